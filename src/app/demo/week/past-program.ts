/**
 * A gateway, a core and a webhook engine on a clock that the demo moves, in front of the store of this start. What is
 * done through them has the time of that clock, and is otherwise what a caller, the core and a receiver do on any day: so
 * nothing in the store is dated back afterwards. They end before the program serves its first request.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { assertionKeyLabel } from '#src/contract/assertion.ts';
import { attachDoor, createGateway, gatewayServerOptions } from '#src/gateway/index.ts';
import { createOrdering } from '#src/ordering/index.ts';
import type { Clock } from '#src/platform/clock.ts';
import { createLog } from '#src/platform/log.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createWebhooks, isEngineIdle } from '#src/webhooks/index.ts';
import type { Installation } from '../../installation/installation.ts';
import { orderingDeps } from '../../installation/ordering-deps.ts';
import { createPlainServer } from '../../listeners/certificates.ts';
import { createCoreHandler, createInternalServer, listen } from '../../listeners/listeners.ts';
import type { Settings } from '../../settings/config.ts';
import { receiverPath } from '../../settings/demo-path.ts';
import type { LiveSecrets } from '../../settings/live-secrets.ts';
import { orderingAudience } from '../../settings/ordering-audience.ts';
import { ownerRights, targetRules } from '../../webhooks/wire-engine.ts';

export type MovedClock = Clock & { moveTo(ms: number): void };

/** It only goes forward. */
export const createMovedClock = (startMs: number): MovedClock => {
  let nowMs = startMs;
  return {
    now: () => new Date(nowMs),
    moveTo: (ms) => {
      nowMs = Math.max(nowMs, ms);
    },
  };
};

/** No program of the demo listens on this port of this machine, so an endpoint with this address fails. */
export const refusingOrigin = 'http://127.0.0.1:9';

export type PastDeps = {
  installation: Installation;
  settings: Settings;
  secrets: Pick<LiveSecrets, 'read'>;
  /** Public address of the program. */
  origin: string;
};

export type PastProgram = {
  /** Address of the gateway. */
  url: string;
  /** Address of a receiver in place of the demo's own, which is not served yet. */
  receiverUrl: string;
  /** What the receiver answers, by the body of a webhook. Default: 204. */
  answerWith(choose: (body: string) => number): void;
  /** Resolves when no event waits and no delivery is due. */
  settle(): Promise<void>;
  /** Times out the orders whose countdown has ended. */
  timeOut(): Promise<void>;
  close(): Promise<void>;
};

/** Every call of the week is made within seconds, so the limits of a minute must not meet them. */
const unlimited = { rate_minute_units: 1_000_000_000, rate_burst_units: 1_000_000_000 };
const lookEveryMs = 20;

/** `clock`: the time of everything that happens. */
export const openPast = async (
  { installation: present, settings, secrets, origin }: PastDeps,
  clock: Clock,
): Promise<PastProgram> => {
  const log = createLog({ level: 'error', role: settings.role });
  const { store, box } = present;
  const installation = { ...present, clock, log };
  const assertionKey = box.derive(assertionKeyLabel(orderingAudience));
  const ordering = createOrdering(orderingDeps(settings, installation, secrets));
  const handler = createCoreHandler(ordering.operations, { db: store.db, box, clock, log, assertionKey });
  const core = await listen(createInternalServer(handler), '127.0.0.1', 0);
  const gateway = await createGateway({
    settings: { ...settings.gateway, ...unlimited },
    ...{ origin, db: store.db, background: store.background, pool: store.pool, sessions: store.sessions },
    ...{ box, clock, log, upstreams: { ...settings.gateway.upstreams, [orderingAudience]: core.url } },
  });
  const server = createPlainServer(gatewayServerOptions);
  attachDoor(server, () => gateway);
  const door = await listen(server, '127.0.0.1', 0);
  const receiver = await openReceiver();
  const webhooks = createWebhooks({
    ...{ db: store.db, background: store.background, pool: store.sessions, box, clock, log, lookEveryMs },
    settings: settings.webhooks,
    rights: ownerRights(store.background),
    rules: targetRules(settings, [receiver.origin, refusingOrigin]),
  });
  const ended = new AbortController();
  const supervised = supervise([...gateway.services, ...webhooks.services], ended.signal, log);
  return {
    url: door.url,
    receiverUrl: `${receiver.origin}${receiverPath}`,
    answerWith: receiver.answerWith,
    settle: () => settled(() => isEngineIdle(store.db, clock.now())),
    timeOut: async () => {
      // One look of the service, which then waits.
      const looked = new AbortController();
      const running = ordering.services.filter(({ name }) => name === 'order-countdown');
      const runs = running.map((service) => service.run(looked.signal));
      looked.abort();
      await Promise.all(runs);
    },
    close: async () => {
      ended.abort();
      await supervised;
      await gateway.close();
      await Promise.all([door.close(0), core.close(0), receiver.close()]);
    },
  };
};

const settlePollMs = 4;
const settleMsMax = 3_000;

/** After the bound the week goes on: what is left is delivered later. */
const settled = async (isIdle: () => Promise<boolean>): Promise<void> => {
  const lastMs = performance.now() + settleMsMax;
  while (performance.now() < lastMs && !(await isIdle()))
    await new Promise((resolve) => setTimeout(resolve, settlePollMs));
};

const openReceiver = async () => {
  let choose = (_body: string): number => 204;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => response.writeHead(choose(Buffer.concat(chunks).toString('utf8'))).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerWith: (chosen: typeof choose): void => {
      choose = chosen;
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
