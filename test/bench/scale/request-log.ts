/**
 * What the log of callers' requests costs: the same gateway with it and without it (ORDERPASS_REQUEST_LOG_DAYS=0), each a
 * process of its own on core 0, in interleaved rounds. A proxied GET with a token and with a key leaves a count, a POST an
 * entry of its own. Load, upstream and PostgreSQL share core 1. The ratio is that of the processor time that the gateway's
 * process takes for a request, which other work of the machine changes less than the rate. Before that, the calls that the log
 * adds to one request are timed alone. Exit code 1 when a read costs more than the goal.
 */
import { createExchange } from '#src/gateway/request/exchange.ts';
import { openRequestLog } from '#src/gateway/whoami/requests/open-request-log.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLog } from '#src/platform/log.ts';
import { column, median, pinned, print, processorTimeOf, ratiosOf, withParts } from '../kit/parts.ts';

const roundsDefault = 15;
const roundMs = 2_500;
const warmUpMs = 3_000;
const connections = 48;

/** Processor time with the log, of that without. A write costs its service far more than this upstream, which does nothing; it is shown only. */
const goals = { gateway: 1.03, 'gateway-key': 1.03, 'gateway-write': undefined } as const;
const ways = Object.keys(goals) as (keyof typeof goals)[];
const sides = ['gateway', 'unlogged'] as const;

type Costs = Record<(typeof sides)[number], number[]>;

const measure = (rounds: number): Promise<Map<string, Costs>> =>
  withParts(async (start) => {
    const load = await start('load', 1, [String(connections)]);
    const store = await start('store', 1, []);
    const urls = [String(load.ready.url), String(store.ready.url)];
    const targets = new Map<string, Record<string, unknown>>();
    const pids = new Map<string, number>();
    for (const side of sides) {
      const { ready, child } = await start('contender', 0, [side, ...urls]);
      pids.set(side, child.pid ?? 0);
      for (const way of ways) targets.set(`${side} ${way}`, way === 'gateway' ? ready : (ready.others?.[way] ?? {}));
    }
    for (const target of targets.values()) await load.ask({ ...target, ms: warmUpMs });
    const costs = new Map<string, Costs>(ways.map((way) => [way, { gateway: [], unlogged: [] }]));
    for (let round = 0; round < rounds; round += 1)
      // The two sides directly after each other, and neither always first.
      for (const way of ways)
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
          const before = processorTimeOf(pids.get(side) ?? 0);
          const { requests, failures } = await load.ask({ ...targets.get(`${side} ${way}`), ms: roundMs });
          if (failures !== 0) throw new Error(`${side} ${way}: ${String(failures)} answers were not right`);
          costs.get(way)?.[side].push((processorTimeOf(pids.get(side) ?? 0) - before) / Number(requests));
        }
    return costs;
  });

const calls = 10_000;

/** Nanoseconds that the log adds to a request of this method. */
const hookTimeOf = (method: 'GET' | 'POST'): number => {
  const req = { url: '/api/orders/list', method, headers: { 'idempotency-key': 'order-4711' }, rawHeaders: [] };
  const exchange = createExchange(
    req as never,
    { headersSent: true } as never,
    'req_1m89s3f291nw5fe6na44yfss',
    0,
    false,
    false,
  );
  exchange.route = { id: 'orders.list', method, path: '/api/orders/list' } as never;
  exchange.principal = { id: 'opc_0000000000000000', tenants: ['rst_1'] } as never;
  const log = createLog({ level: 'warn', role: 'bench' });
  const times = Array.from({ length: 200 }, () => {
    const opened = openRequestLog({
      ...{
        days: 7,
        db: undefined as never,
        background: undefined as never,
        clock: systemClock,
        dropped: () => undefined,
      },
      log,
      hooks: { noteDenial: () => undefined, answered: () => undefined, settle: () => undefined },
    });
    const startedAt = performance.now();
    for (let i = 0; i < calls; i += 1) {
      exchange.isNoted = false;
      opened.settle(exchange);
      opened.answered(exchange, 200);
      opened.settle(exchange);
    }
    return ((performance.now() - startedAt) * 1e6) / calls;
  });
  return median(times);
};

const rounds = Number(process.argv[2] ?? roundsDefault);
print(`the log alone: ${hookTimeOf('GET').toFixed(0)} ns for a read, ${hookTimeOf('POST').toFixed(0)} ns for a write`);
print(`${rounds} rounds of ${roundMs / 1000} s, ${connections} connections, ${pinned}`);
print(['µs a request', 'with', 'without', 'ratio', 'min', 'max', 'goal'].map((name) => column(name, 14)).join(''));
for (const [way, { gateway, unlogged }] of await measure(rounds)) {
  const ratios = ratiosOf(gateway, unlogged);
  const goal = goals[way as keyof typeof goals];
  const [ratio, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((one) => one.toFixed(3));
  const figures = [median(gateway).toFixed(1), median(unlogged).toFixed(1), ratio, least, most, goal ?? '–'];
  print([way, ...figures].map((text) => column(String(text), 14)).join(''));
  if (goal !== undefined && median(ratios) > goal) process.exitCode = 1;
}
