/** `/healthz` and `/readyz` of the internal listener. They need no token and hold no secret. */
import type { Middleware } from 'koa';
import { Fault } from '#src/contract/fault.ts';
import { programVersion } from '#src/platform/files/release.ts';
import type { Settings } from '../settings/config.ts';
import type { ReadRoleReadiness } from './role-readiness.ts';

export type Probes = {
  answer: Middleware;
  /** Until this call `/readyz` is 503 with the status `starting`. */
  serve(readiness: ReadRoleReadiness): void;
};

export const createProbes = (role: Settings['role']): Probes => {
  let read: ReadRoleReadiness = async () => ({ status: 'starting', role, version: programVersion });
  return {
    answer: async (ctx, next) => {
      if (ctx.path !== '/healthz' && ctx.path !== '/readyz') return next();
      if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
        throw new Fault('METHOD_NOT_ALLOWED', 'This path takes GET and HEAD', { headers: { allow: 'GET, HEAD' } });
      ctx.set('cache-control', 'no-store');
      const found = ctx.path === '/healthz' ? { status: 'ok' } : await read();
      ctx.status = found.status === 'ok' || found.status === 'degraded' ? 200 : 503;
      if (ctx.status === 503) ctx.set('retry-after', '1');
      ctx.body = found;
    },
    serve: (readiness) => {
      read = readiness;
    },
  };
};
