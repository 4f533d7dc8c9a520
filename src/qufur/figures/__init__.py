"""The paper's figures, one file each: SPEC says what is run, `draw` what is shown."""
