/** A worker that only dispatches: `dispatcher.ts URL QUEUES`. Its deliveries stay where they are. */
import { pino } from 'pino';
import { systemClock } from '#src/platform/clock.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createPoll } from '#src/platform/wake.ts';
import { createDispatch } from '#src/webhooks/dispatch/dispatch.ts';
import { looking } from '#src/webhooks/pacing/bounds.ts';

const [, , connection = '', queues = '1'] = process.argv;
const log = pino({ level: 'error' }, pino.destination(2));
const pool = createPool({ connection, applicationName: 'bench' }, log);
const end = new AbortController();
const { service } = createDispatch({
  pool,
  clock: systemClock,
  fastPath: undefined,
  queuesCount: Number(queues),
  onDeliveries: () => undefined,
  poll: createPoll({ pollMs: looking.everyMs, quietMs: looking.everyMs }),
});
const ended = supervise([service], end.signal, log);
process.stdout.write('{}\n');
process.stdin.resume().once('end', () => end.abort());
await ended;
await pool.end();
