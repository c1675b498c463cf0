/**
 * Spans for OpenTelemetry. Features say what they trace through this port and know no library. A span is passed on by
 * hand, so nothing follows requests around; without a collector there are no traces at all, and nothing of the library is
 * loaded. Attributes are named by its semantic conventions. No credential, query, body or address of a person goes in.
 */
import type { TraceSpan, Traces, TracesDeps } from './trace-span.ts';

export type { SpanKind, TraceContext, TraceSpan, Traces } from './trace-span.ts';

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
