"""What an expression may cost at worst, told before it runs: definitions whose rules are too dear are refused."""
