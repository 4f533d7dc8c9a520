"""What becomes of labels besides asking and telling: free ones, those given up, and later classes."""
