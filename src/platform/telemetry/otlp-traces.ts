/**
 * Sends spans to a collector by OTLP over HTTP, in batches. The queue is bounded: while the collector is slow or away, spans
 * are dropped and counted, and no request waits. Loaded only when tracing is configured.
 */
import { randomUUID } from 'node:crypto';
import {
  type Context,
  SpanKind as OtelKind,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type TextMapGetter,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { programVersion } from '../files/release.ts';
import { pause } from '../supervisor.ts';
import type { SpanKind, TraceContext, TraceSpan, Traces, TracesDeps } from './trace-span.ts';
import type { TracingSettings } from './tracing-config.ts';

/** Some 2 MB. */
const waitingMax = 4_096;
const batchMax = 512;
const batchMs = 1_000;
const exportMs = 5_000;
const flushMs = 2_000;
const valueLengthMax = 256;

export const createOtlpTraces = (deps: TracesDeps & { endpoint: string }): Traces => {
  const { settings, readHeaders } = deps;
  const exporter = new OTLPTraceExporter({
    url: `${deps.endpoint.replace(/(?<!\/)\/+$/, '')}/v1/traces`,
    headers: async () => headersOf(readHeaders()),
    timeoutMillis: exportMs,
    concurrencyLimit: 2,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': settings.service_name,
      'service.version': programVersion,
      'service.instance.id': randomUUID(),
      'orderpass.role': deps.role,
    }),
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: valueLengthMax },
    spanProcessors: [createBoundedProcessor(exporter, deps)],
  });
  const tracer = provider.getTracer('orderpass');
  return {
    start: (kind, name, from) => startSpan(tracer, kind, name, from === undefined ? ROOT_CONTEXT : remoteParent(from)),
    close: async () => {
      const over = new AbortController();
      await Promise.race([provider.shutdown().catch(() => undefined), pause(flushMs, over.signal)]);
      over.abort();
    },
  };
};

/** The library drops spans beyond its bound too, but does not count them. */
const createBoundedProcessor = (exporter: SpanExporter, { metrics, log }: TracesDeps): SpanProcessor => {
  const counter = metrics.counter('spans_total', 'Spans for the collector by outcome', ['outcome']);
  const exported = counter.child({ outcome: 'exported' });
  const dropped = counter.child({ outcome: 'dropped' });
  let waiting = 0;
  let isAway = false;
  const counting: SpanExporter = {
    export: (spans: ReadableSpan[], done) =>
      exporter.export(spans, (result) => {
        waiting -= spans.length;
        const failed = result.code !== 0;
        (failed ? dropped : exported).inc(spans.length);
        if (failed !== isAway)
          log.warn(
            failed ? 'the collector of spans is away; spans are dropped' : 'the collector of spans accepts spans again',
          );
        isAway = failed;
        done(failed ? { code: result.code } : result);
      }),
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: waitingMax,
    maxExportBatchSize: batchMax,
    scheduledDelayMillis: batchMs,
    exportTimeoutMillis: exportMs + 1_000,
  });
  metrics.gauge('spans_waiting', 'Spans that the collector has not accepted yet', () => waiting);
  return {
    onStart: () => undefined,
    onEnd: (span) => {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (waiting >= waitingMax) return dropped.inc();
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
};

const samplerOf = ({ sampler, sampler_arg }: Pick<TracingSettings, 'sampler' | 'sampler_arg'>): Sampler => {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(sampler_arg);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampler_arg) });
  }
};

const headersOf = (text: string | undefined): Record<string, string> =>
  Object.fromEntries(
    (text ?? '')
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const mark = pair.indexOf('=');
        return [pair.slice(0, mark).trim(), decoded(pair.slice(mark + 1).trim())];
      }),
  );

const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
};

const propagator = new W3CTraceContextPropagator();

const headerGetter: TextMapGetter<TraceContext> = {
  get: (from, header) => (header === 'traceparent' ? from.traceparent : from.tracestate),
  keys: () => ['traceparent', 'tracestate'],
};

/** W3C Trace Context: a `traceparent` that is not valid starts a new trace. */
const remoteParent = (from: TraceContext): Context => propagator.extract(ROOT_CONTEXT, from, headerGetter);

const kinds: Record<SpanKind, OtelKind> = {
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  internal: OtelKind.INTERNAL,
};

const startSpan = (tracer: Tracer, kind: SpanKind, name: string, parent: Context): TraceSpan => {
  const span: Span = tracer.startSpan(name, { kind: kinds[kind] }, parent);
  const context = span.spanContext();
  return {
    traceId: context.traceId,
    isRecording: span.isRecording(),
    traceparent: `00-${context.traceId}-${context.spanId}-0${context.traceFlags & TraceFlags.SAMPLED}`,
    tracestate: context.traceState?.serialize() || undefined,
    rename: (next) => void span.updateName(next),
    set: (key, value) => {
      if (value !== undefined) span.setAttribute(key, value);
    },
    fail: (type) => {
      span.setAttribute('error.type', type);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    child: (childKind, childName) =>
      startSpan(tracer, childKind, childName, trace.setSpanContext(ROOT_CONTEXT, context)),
    end: () => span.end(),
  };
};
