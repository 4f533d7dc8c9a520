"""Rules that are given a budget, judged against α tuned in hindsight; not in the paper."""
