/** How long a role takes from the start of its process until it is ready. */
import { freePort } from '../../support/free-port.ts';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { timeOf } from './compare.ts';
import type { ScaledStore } from './open-scaled-store.ts';
import { environmentOf } from './shop.ts';

export const roles = ['all', 'gateway', 'ordering', 'worker'] as const;

export const startRole = async (scaled: ScaledStore, role: (typeof roles)[number]): Promise<number> => {
  const port = await freePort();
  const env = {
    ...environmentOf(scaled),
    ...{ ORDERPASS_ROLE: role, ORDERPASS_ORIGIN: 'http://localhost:4000', ORDERPASS_INTERNAL_PORT: String(port) },
    ...(role === 'gateway' && { ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9' }),
  };
  let stop = (): Promise<unknown> => Promise.resolve();
  const tookMs = await timeOf(async () => {
    const program = await startProgram(env);
    stop = program.stop;
    await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true);
  });
  await stop();
  return tookMs;
};
