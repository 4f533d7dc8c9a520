"""The paper's figures and the claims of its experiments, one file each."""
