/** The port of the panel's pages about limits. */
import { createCredentials, readBounds, readNetworks, reportCallerUsage } from '#src/gateway/index.ts';
import type { LimitPorts } from '#src/panel/index.ts';
import type { PortDeps } from './port-deps.ts';
import { underLock } from './under-lock.ts';

const days = 30;

export const createLimitPorts = ({ installation, settings }: PortDeps): LimitPorts => {
  const { store, box, clock } = installation;
  const { db } = store;
  const { rate_minute_units: minute, rate_burst_units: burst } = settings.gateway;
  return {
    defaults: { minute, burst },
    show: async (kind, id) => {
      const usage = await reportCallerUsage({ db, clock }, { kind, id, days });
      return { ...usage, ...(await readBounds(db, kind, id)) };
    },
    readAllowIp: readNetworks,
    setLimits: (actor, kind, id, limits, check) =>
      underLock(db, kind, id, async (tx) => {
        check(await readBounds(tx, kind, id));
        await createCredentials({ db, box, clock, actor }).setLimits(kind, id, limits, tx);
      }),
    setAllowIp: (actor, kind, id, networks, check) =>
      underLock(db, kind, id, async (tx) => {
        check(await readBounds(tx, kind, id));
        await createCredentials({ db, box, clock, actor }).setAllowIp(kind, id, networks, tx);
      }),
  };
};
