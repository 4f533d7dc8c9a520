"""How blocks of inputs are decided, exactly as one by one."""
