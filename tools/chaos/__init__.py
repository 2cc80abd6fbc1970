"""Campaigns: a real system, seeded trouble, and an oracle that knows what must be true all the same."""
