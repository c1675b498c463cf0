/** Rounds of failovers under load on one fleet, and the checks of the whole history after each of them. */
import { expect } from 'vitest';
import { runCommand, runJson } from '../support/program.ts';
import { createRandom, type Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import {
  type FeedEvent,
  longestOutage,
  type OrderRow,
  passesOfRevoked,
  refusalsOfLiving,
  wrongDeliveries,
  wrongEvents,
  wrongOrders,
  wrongRefusals,
} from './check-history.ts';
import { faults } from './cluster/patroni-cluster.ts';
import type { FailoverFleet } from './failover-fleet.ts';
import { type Call, type Credential, createHistory, type History, isAcknowledged, isWrite } from './load/history.ts';
import { runLoad } from './load/load.ts';
import { createSender, pause } from './load/sender.ts';

export type RoundsSettings = {
  rounds: number;
  /** How long writes may be refused in one failover. */
  refusedMsMax: number;
  /** Decides the faults and their moments. */
  random: Random;
  say(text: string): void;
};

/** A second is promised, and one more is for a machine that has other work. */
const lateMsMax = 2_000;
/** A second until a worker dispatches again, and the rest for a machine that has other work. */
const feedMsMax = 5_000;
/** Only what hangs takes so long. */
export const roundMsMax = 300_000;
/** Calls that show that the load goes on. */
const progress = 20;

type Run = RoundsSettings & { fleet: FailoverFleet; history: History; feed: Feed };

/** Rejects with the first thing that is wrong. */
export const runRounds = async (fleet: FailoverFleet, settings: RoundsSettings): Promise<void> => {
  const history = createHistory();
  const run: Run = { ...settings, fleet, history, feed: emptyFeed() };
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  const failOvers = async (): Promise<void> => {
    for (let round = 1; round <= settings.rounds && !isOver; round += 1) await failOver(run, round);
  };
  const sender = createSender(fleet.gatewayUrls, history);
  // A generator of its own, since the sequence in which the parts of the load use it depends on the machine.
  const random = createRandom(settings.random.seed + 1);
  const load = runLoad({ sender, history, random, client: fleet.client }, () => isOver);
  await Promise.all([load.finally(end), failOvers().finally(end)]);
  report(run);
  await checkEnd(run);
};

const acknowledgedSince = ({ calls }: History, ms: number): Call[] =>
  calls.filter((call) => isWrite(call) && isAcknowledged(call) && call.beginMs > ms);

const untilProgress = ({ history }: Run): Promise<void> => {
  const fromMs = history.now();
  return until(() => acknowledgedSince(history, fromMs).length > progress, roundMsMax);
};

/** A key of its own in each round, which is revoked by a command while the primary changes. */
const createKey = async ({ fleet, history }: Run): Promise<() => Promise<void>> => {
  const made = await runJson(['key', 'create', '--restaurant', fleet.restuid], fleet.env);
  const credential: Credential = { name: String(made.key_id), headers: { 'x-api-key': String(made.api_key) } };
  history.credentials.push(credential);
  const isRevoked = async (): Promise<boolean> =>
    (await runCommand(['key', 'revoke', '--key-id', credential.name], fleet.env)).code === 0;
  return async () => {
    credential.revokingMs = history.now();
    await until(isRevoked, roundMsMax);
    credential.revokedMs = history.now();
  };
};

/** From a whole cluster under load to a whole cluster under load. */
const failOver = async (run: Run, round: number): Promise<void> => {
  const { fleet, history, random } = run;
  const { cluster, redis } = fleet;
  await until(cluster.isWhole, roundMsMax);
  const revokeKey = await createKey(run);
  await untilProgress(run);
  await pause(random.between(0, 3_000));
  const fault = random.pick(faults.map((one) => [1, one]));
  const revokeAfterMs = random.between(0, 6_000);
  const isRedisHit = random.next() < 0.3;
  const old = await cluster.primary();
  if (old === undefined) throw new Error('there is no primary');
  const faultMs = history.now();
  cluster.harm(old, fault);
  const others = [pause(revokeAfterMs).then(revokeKey), ...(isRedisHit ? [redis.failOver()] : [])];
  await until(async () => ![undefined, old].includes(await cluster.primary()), roundMsMax);
  await untilProgress(run);
  const feedMs = await untilInFeed(run, [...history.calls]);
  const outage = longestOutage(history.calls, faultMs);
  history.outages.push(outage);
  cluster.mend(old, fault);
  await Promise.all(others);
  await until(cluster.isWhole, roundMsMax);
  const refusedMs = Math.round(outage.endMs - outage.beginMs);
  const hit = isRedisHit ? ' and the primary of Redis' : '';
  run.say(
    `round ${round}: ${fault} ${old.name}${hit}; no write was acknowledged for ${refusedMs} ms, and the feed had all ${feedMs} ms later`,
  );
  expect(refusedMs).toBeLessThan(run.refusedMsMax);
  await checkAll(run);
};

/** The events of the feed that were read, and the query that names what follows them. */
type Feed = { events: FeedEvent[]; after: string };

const emptyFeed = (): Feed => ({ events: [], after: '' });

/** Adds what the feed has after the events that were read. Rejects when a page is refused; earlier pages stay. */
const readOn = async ({ gatewayUrls, client }: FailoverFleet, feed: Feed): Promise<void> => {
  const headers = { 'x-client-id': client.client_id, 'x-client-secret': client.client_secret };
  for (;;) {
    const answer = await fetch(`${gatewayUrls[0]}/api/events/list${feed.after}`, { headers });
    if (answer.status !== 200) throw new Error(`the feed was answered by ${answer.status}`);
    const page = (await answer.json()) as { events: FeedEvent[]; more: boolean; next_cursor: string };
    feed.events.push(...page.events);
    feed.after = `?after=${encodeURIComponent(page.next_cursor)}`;
    if (!page.more) return;
  }
};

const readFeed = async (fleet: FailoverFleet): Promise<FeedEvent[]> => {
  const feed = emptyFeed();
  await readOn(fleet, feed);
  return feed.events;
};

/**
 * Waits until the feed has the events of these calls; returns for how long, in milliseconds, and throws after `feedMsMax`. An
 * event enters the feed when a worker dispatches it, which a worker begins again within a second after the store is back.
 */
const untilInFeed = async ({ fleet, history, feed }: Run, calls: readonly Call[]): Promise<number> => {
  const fromMs = history.now();
  const isThere = async (): Promise<boolean> => {
    // A gateway may refuse a page while it leaves the old primary.
    const isRead = await readOn(fleet, feed).then(
      () => true,
      () => false,
    );
    return isRead && wrongEvents(calls, feed.events).length === 0;
  };
  await until(isThere, feedMsMax);
  return Math.round(history.now() - fromMs);
};

/** Holds at any moment of a whole cluster: what is read here is newer than the calls that it is compared with. */
const checkAll = async (run: Run): Promise<void> => {
  const { fleet, history } = run;
  const calls = [...history.calls];
  const rows = await fleet.query<OrderRow>(
    `select o.uid, o.status, c.email from ordering.orders o
     join ordering.customers c on c.restuid = o.restuid and c.uid = o.customer_uid`,
  );
  expect(wrongOrders(calls, rows)).toEqual([]);
  // What is still missing then, the next lines show.
  await untilInFeed(run, calls).catch(() => undefined);
  const events = await readFeed(fleet);
  expect(wrongEvents(calls, events)).toEqual([]);
  const { received } = fleet.receiver;
  // Deliveries that are under way get time; the next line shows what is still wrong then.
  await until(() => wrongDeliveries(events, received).length === 0).catch(() => undefined);
  expect(wrongDeliveries(events, received)).toEqual([]);
  expect(wrongRefusals(calls)).toEqual([]);
  expect(refusalsOfLiving(history)).toEqual([]);
  expect(passesOfRevoked(history).filter(({ lateMs }) => lateMs > lateMsMax)).toEqual([]);
  expect(fleet.programs.filter(({ child }) => child.exitCode !== null).map((one) => one.errors())).toEqual([]);
};

/** After the last call all that is there was acknowledged, since each call was repeated until then. */
const checkEnd = async (run: Run): Promise<void> => {
  await checkAll(run);
  const { fleet, history } = run;
  const sent = (kind: Call['kind']): number =>
    new Set(history.calls.filter((call) => call.kind === kind).map(({ key }) => key)).size;
  const [row] = await fleet.query<{ count: string }>('select count(*) from ordering.orders');
  expect(Number(row?.count)).toBe(sent('order'));
  expect((await readFeed(fleet)).filter(({ event }) => event === 'menu.changed').length).toBe(sent('menu'));
};

const report = ({ history, fleet, say }: Run): void => {
  const { calls, outages } = history;
  const lengths = outages.map(({ beginMs, endMs }) => Math.round(endMs - beginMs)).sort((a, b) => a - b);
  say(`${outages.length} failovers; without an acknowledged write for ${lengths.join(', ')} ms`);
  const groups = Map.groupBy(calls, ({ kind }) => kind);
  const figures = [...groups].map(([kind, all]) => `${kind} ${all.filter(isAcknowledged).length} of ${all.length}`);
  say(`acknowledged of sent: ${figures.join(', ')}; ${fleet.receiver.received.length} webhooks`);
  const late = passesOfRevoked(history).map(({ lateMs }) => Math.round(lateMs));
  say(`${late.length} uses passed after a revocation was acknowledged, the latest ${Math.max(0, ...late)} ms after it`);
};
