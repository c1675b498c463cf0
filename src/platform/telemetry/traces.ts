/**
 * Spans for OpenTelemetry. Features say what they trace through this port and know no library. A span is passed on by
 * hand, so nothing follows requests around; without a collector there are no traces at all, and nothing of the library is
 * loaded. Attributes are named by its semantic conventions. No credential, query, body or address of a person goes in.
 */
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

/** Undefined: no collector is named. */
export const openTraces = async (deps: TracesDeps): Promise<Traces | undefined> => {
  const { endpoint } = deps.settings;
  if (endpoint === undefined) return undefined;
  const { createOtlpTraces } = await import('./otlp-traces.ts');
  return createOtlpTraces({ ...deps, endpoint });
};

/** Runs `work` as a part of `parent`. */
export const traced = async <T>(parent: TraceSpan | undefined, name: string, work: () => Promise<T>): Promise<T> => {
  if (parent === undefined) return work();
  const span = parent.child('internal', name);
  try {
    return await work();
  } catch (error) {
    span.fail(error instanceof Error ? error.name : 'unknown');
    throw error;
  } finally {
    span.end();
  }
};
