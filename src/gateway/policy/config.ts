/** Settings of the gateway's policy towards upstreams, other proxies and old clients. */
import { z } from 'zod';
import { number, onOff } from '#src/platform/settings.ts';

/** `a,b` from the environment, a list from a file. */
const names = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((name) => name.trim()) : value),
  z.array(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'names of upstreams')),
);

export const policySettings = z.strictObject({
  auth_check: onOff('off').meta({
    description: '`on` answers nginx auth_request, Traefik ForwardAuth and Envoy ext_authz at /auth/check',
    env: 'ORDERPASS_AUTH_CHECK',
  }),
  auth_check_audiences: names.default([]).meta({
    description:
      'Upstreams for which /auth/check answers with the identity that the gateway would send to them; who has it can send it there directly',
    env: 'ORDERPASS_AUTH_CHECK_AUDIENCES',
  }),
  legacy_status: onOff('off').meta({
    description:
      '`on` gives callers without a Bearer credential the statuses of the old platform (200 with success false)',
    env: 'ORDERPASS_LEGACY_STATUS',
  }),
  upstream_failures_max: number(1, 1_000, 5).meta({
    description:
      'Failed connections in a row, or requests without an answer, after which an address is left out until it works; at most half of the addresses are',
    env: 'ORDERPASS_UPSTREAM_FAILURES_MAX',
  }),
  upstream_pause_ms_max: number(100, 600_000, 1_000).meta({
    description:
      'Longest time until an address that fails is probed; the first is 500 ms, each following one twice as long',
    env: 'ORDERPASS_UPSTREAM_PAUSE_MS_MAX',
  }),
  upgrades_max: number(0, 100_000, 1_000).meta({
    description:
      'Upgraded connections (WebSocket) at the same time. With all of them taken, a caller gets the slot of the newest one of the caller with most, where it has fewer by two or more; otherwise it is refused (503)',
    env: 'ORDERPASS_UPGRADES_MAX',
  }),
  upgrade_idle_ms: number(50, 86_400_000, 120_000).meta({
    description: 'An upgraded connection on which nothing moves for so long is closed',
    env: 'ORDERPASS_UPGRADE_IDLE_MS',
  }),
});

export type PolicySettings = z.infer<typeof policySettings>;

/** Of one upstream, in the sequence given. */
export const addressesOf = (value: string): string[] => value.split('|').map((url) => url.trim());
