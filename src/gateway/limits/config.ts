/** Settings of the limits (interface 9.1 and 9.2). */
import { z } from 'zod';
import { number } from '#src/platform/settings.ts';

/** One call of the most expensive class must fit. */
const unitsMin = 20;

export const limitsSettings = z.strictObject({
  rate_minute_units: number(unitsMin, 1_000_000_000, 600).meta({
    description: 'Units that one API key or client may use in 60 s (a read costs 1, a write 2, an import 20)',
    env: 'ORDERPASS_RATE_MINUTE_UNITS',
  }),
  rate_burst_units: number(unitsMin, 1_000_000_000, 100).meta({
    description: 'Units that one API key or client may use in 1 s',
    env: 'ORDERPASS_RATE_BURST_UNITS',
  }),
  rate_failures_max: number(1, 1_000_000, 10).meta({
    description: 'Failed authentications in 60 s of one client id from one address; then that pair gets 429',
    env: 'ORDERPASS_RATE_FAILURES_MAX',
  }),
  trusted_proxy_hops: number(0, 16, 0).meta({
    description:
      'Proxies of yours in front, each adding to X-Forwarded-For; the address that the outermost saw counts. 0: the socket’s own',
    env: 'ORDERPASS_TRUSTED_PROXY_HOPS',
  }),
});

export type LimitsSettings = z.infer<typeof limitsSettings>;
