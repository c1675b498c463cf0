/** The upstreams of a gateway. Route tables that describe an upstream equally share its connections, health and bounds. */
import { createHash } from 'node:crypto';
import type { Logger } from '#src/platform/log.ts';
import type { UpstreamOptions } from './resolve-upstreams.ts';
import { closeUpstream, createUpstream, type Upstream } from './upstreams.ts';

export type SharedUpstreams = {
  /** Call `release` for each. */
  take(options: UpstreamOptions): Upstream;
  /** Closes the upstream when nothing else uses it. */
  release(upstream: Upstream): Promise<void>;
};

/** `origin`: the public address. */
export const createSharedUpstreams = (origin: string, log: Logger): SharedUpstreams => {
  const shared = new Map<string, { upstream: Upstream; uses: number }>();
  return {
    take: (options) => {
      // A digest, since the options hold private keys.
      const key = createHash('sha256').update(JSON.stringify(options)).digest('hex');
      const found = shared.get(key) ?? { upstream: createUpstream(options, origin, log), uses: 0 };
      found.uses += 1;
      shared.set(key, found);
      return found.upstream;
    },
    release: async (upstream) => {
      for (const [key, one] of shared) {
        if (one.upstream !== upstream) continue;
        one.uses -= 1;
        if (one.uses > 0) return;
        shared.delete(key);
        await closeUpstream(upstream);
      }
    },
  };
};
