"""Queues: Little's law and waiting."""

from __future__ import annotations


def in_flight(rate, latency_s):
    """Little's law: requests in the system = arrival rate × time in the system."""
    return rate * latency_s


def waiting_factor(utilization):
    """Mean time in the system over the service time, one server, random arrivals (M/M/1).

    `utilization` below 1. Pessimistic for a server that batches, optimistic for bursty arrivals.
    """
    return 1 / (1 - utilization)
