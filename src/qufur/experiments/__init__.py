"""Experiments that check the paper by numbers: what is run, what is drawn, and what it says of each claim."""
