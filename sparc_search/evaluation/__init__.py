"""How good the answers are: metrics and evaluations on the serving path."""
