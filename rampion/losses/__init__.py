"""Losses over lists and relevant sets: each turns scores and costs into a value and slopes."""
