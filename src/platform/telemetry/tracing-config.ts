/** Settings of tracing, under the names of OpenTelemetry where it has one. */
import { z } from 'zod';
import { asNumber } from '#src/platform/settings.ts';

const isCollector = (value: string): boolean => {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return (protocol === 'http:' || protocol === 'https:') && `${username}${password}${search}${hash}` === '';
};

export const tracingSettings = z.strictObject({
  endpoint: z
    .string()
    .refine(isCollector, 'must be http(s)://host[:port][/path] without credentials and query')
    .optional()
    .meta({
      description: 'Collector that gets spans by OTLP/HTTP, at this address + /v1/traces; without it nothing is traced',
      env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    }),
  headers: z
    .string()
    .regex(/^[^=,\s]+=[^,]*(,[^=,\s]+=[^,]*)*$/, 'must be name=value pairs, separated by commas')
    .optional()
    .meta({
      description: 'Headers for the collector, as name=value pairs separated by commas, values percent-encoded',
      env: 'OTEL_EXPORTER_OTLP_HEADERS',
      secret: true,
    }),
  service_name: z
    .string()
    .min(1)
    .max(128)
    .default('orderpass')
    .meta({ description: 'Name of this service in traces', env: 'OTEL_SERVICE_NAME' }),
  sampler: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .meta({
      description: 'Which requests are traced; parentbased: the decision of the caller, else the second part',
      env: 'OTEL_TRACES_SAMPLER',
    }),
  sampler_arg: z
    .preprocess(asNumber, z.number().min(0).max(1))
    .default(1)
    .meta({ description: 'Share of traceidratio', env: 'OTEL_TRACES_SAMPLER_ARG' }),
  incoming: z.enum(['ignore', 'continue']).default('ignore').meta({
    description:
      '`continue` takes traceparent, tracestate and baggage of callers of the public listener as they come; only where a proxy of yours sets them, since they decide what is traced',
    env: 'ORDERPASS_TRACES_INCOMING',
  }),
});

export type TracingSettings = z.infer<typeof tracingSettings>;
