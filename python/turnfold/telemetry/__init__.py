"""What happens, told to whoever subscribes: callbacks, logs, OpenTelemetry."""

from turnfold.telemetry.hub import Sink, Subscription, listening, subscribe
from turnfold.telemetry.logs import LogSink
from turnfold.telemetry.opentelemetry import OpenTelemetrySink

__all__ = ["LogSink", "OpenTelemetrySink", "Sink", "Subscription", "listening", "subscribe"]
