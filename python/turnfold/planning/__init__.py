"""Trigger, select, step, plan, apply: pure and synchronous."""
