/** Settings of the webhook engine, described field by field. */
import { z } from 'zod';
import { number, onOff } from '#src/platform/settings.ts';
import { signatureHeaderProblem } from './signing/signature-header-name.ts';

const truth = z.preprocess(
  (value) => (value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : value),
  z.boolean(),
);

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const networkOf = (one: string): string => (one.includes('/') ? one : `${one}/${one.includes(':') ? 128 : 32}`);

/** Separated by commas in the environment; an address alone is a network of one. */
const networks = z.preprocess(
  (value) => (value === '' ? [] : typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value),
  z
    .array(z.string())
    .max(256)
    .refine((given) => given.every((one) => network.safeParse(one).success), {
      error: 'must be IPv4 or IPv6 addresses or networks such as 192.0.2.0/24 or 2001:db8::/32, separated by commas',
    })
    .transform((given) => [...new Set(given.map(networkOf))]),
);

export const webhooksSettings = z.strictObject({
  allow_private_targets: truth.default(false).meta({
    description: 'Webhooks may go to http, loopback and private addresses; for trials and closed networks',
    env: 'ORDERPASS_ALLOW_PRIVATE_TARGETS',
  }),
  signature_header: z
    .string()
    .superRefine((name, ctx) => {
      const problem = signatureHeaderProblem(name);
      if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem });
    })
    .default('X-Orderpass-Signature')
    .meta({ description: 'Name of the header with the plain hex signature', env: 'ORDERPASS_SIGNATURE_HEADER' }),
  concurrency_max: number(1, 10_000, 128).meta({
    description:
      'Deliveries that one worker sends at the same time; attempts to slow receivers run beside them, at most four times as many',
    env: 'ORDERPASS_WEBHOOK_CONCURRENCY_MAX',
  }),
  endpoint_concurrency_max: number(1, 1_000, 64).meta({
    description: 'Of them, to one endpoint that answers at once; to one that takes longer at most 8, to a slow one 2',
    env: 'ORDERPASS_WEBHOOK_ENDPOINT_CONCURRENCY_MAX',
  }),
  dispatch_queues: number(1, 16, 1)
    .refine((count) => 16 % count === 0, 'must be 1, 2, 4, 8 or 16')
    .meta({
      description:
        'Queues into which events are divided by their tenant; each is dispatched by one worker at a time. Raise it when several workers dispatch less than is recorded',
      env: 'ORDERPASS_WEBHOOK_QUEUES',
    }),
  sources: networks.default([]).meta({
    description:
      'Addresses and networks that deliveries come from, separated by commas, as receivers see them; published and signed at `/.well-known/webhook-sources`. Empty: nothing is published',
    env: 'ORDERPASS_WEBHOOK_SOURCES',
  }),
  fast_path: onOff('on').meta({
    description:
      'With `off` every delivery is claimed from the database; with `on` one that need not wait is sent right after the commit that inserts it',
    env: 'ORDERPASS_WEBHOOKS_FAST_PATH',
  }),
});

export type WebhooksSettings = z.infer<typeof webhooksSettings>;
