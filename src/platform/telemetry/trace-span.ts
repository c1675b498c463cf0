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

/** Headers of a caller whose word is taken. What is malformed counts as absent. */
export type TraceContext = { traceparent: string | undefined; tracestate: string | undefined };

export type Traces = {
  start(kind: SpanKind, name: string, from?: TraceContext): TraceSpan;
  /** Sends what waits, within a bound. */
  close(): Promise<void>;
};

export type TracesDeps = { settings: TracingSettings; role: string; metrics: Metrics; log: Logger };
