"""Who answers, and which rows of a pool are worth an answer."""
