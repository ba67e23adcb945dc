"""Trainers' own outputs, and a runner that works any such file from its inputs and options alone."""
