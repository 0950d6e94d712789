"""What to want of a list or a relevant set: each loss turns scores and costs into a value and slopes."""
