/** The port for spans: what features say of a request that is traced. No library stands behind these types. */
import type { Logger } from '../log.ts';
import type { Metrics } from './metrics.ts';
import type { TracingSettings } from './tracing-config.ts';

export type SpanKind = 'server' | 'client' | 'internal';

export type TraceSpan = {
  /** 32 hex digits, for log lines. */
  readonly traceId: string;
  /** False: not sampled; attributes need not be gathered. */
  readonly isRecording: boolean;
  /** W3C Trace Context for the next service. */
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  rename(name: string): void;
  set(name: string, value: string | number | boolean | undefined): void;
  /** `type`: a name from a bounded set (attribute error.type). */
  fail(type: string): void;
  child(kind: SpanKind, name: string): TraceSpan;
  end(): void;
};

/** Trace headers of a trusted caller. Malformed headers count as absent. */
export type TraceContext = { traceparent: string | undefined; tracestate: string | undefined };

export type Traces = {
  start(kind: SpanKind, name: string, from?: TraceContext): TraceSpan;
  /** Sends the queued spans, within a time bound. */
  close(): Promise<void>;
};

export type TracesDeps = {
  settings: Omit<TracingSettings, 'headers'>;
  /** The headers for the collector now, in the form of the setting. */
  readHeaders: () => string | undefined;
  role: string;
  metrics: Metrics;
  log: Logger;
};
