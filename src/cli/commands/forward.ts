/** `listen` and `replay`: webhooks of an endpoint on a developer's own machine, signed anew. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { Admin } from '#src/app/admin.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { type Output, UsageError } from '../output.ts';
import { withAdmin } from '../with-admin.ts';

type Options = { endpoint: string; forwardTo: string; allowRemote?: boolean };
type ForwardedEvent = { id: string; event: string; body: string };
type Line = { time: string; event: string; id: string; status: number | null; failure: string | null; ms: number };

const pollMs = 250;
const troubleMs = 1_000;
const lastMax = 100;

export const forwardCommands = (program: Command, output: Output): void => {
  forwarding(program, 'listen', 'forward webhooks of an endpoint, as they happen, to an address on this machine')
    .addHelpText('after', '\nA line for each event; with --json a JSON object for each. Ends with Ctrl-C.')
    .action((options: Options, command: Command) => {
      assertTarget(options);
      return withAdmin(command, (admin) => listen(admin, options, output));
    });
  forwarding(program, 'replay', 'send the last webhooks of an endpoint once more, to an address on this machine')
    .option('--last <n>', `how many, up to ${lastMax}`, count, 10)
    .addHelpText('after', '\nOldest first. Exit code 1 when one was not answered with 2xx.')
    .action((options: Options & { last: number }, command: Command) => {
      assertTarget(options);
      return withAdmin(command, (admin) => replay(admin, options, output));
    });
};

const forwarding = (program: Command, name: string, description: string): Command =>
  program
    .command(name)
    .description(description)
    .requiredOption('--endpoint <uid>', 'the endpoint (`webhook list` names them): its kinds, its secret')
    .requiredOption('--forward-to <url>', 'where to send them, e.g. http://localhost:3000/hook')
    .option('--allow-remote', 'the address may be another machine: events of customers leave this one');

const count = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > lastMax) throw new InvalidArgumentError(`1 to ${lastMax}`);
  return value;
};

const assertTarget = ({ forwardTo, allowRemote }: Options): void => {
  if (!URL.canParse(forwardTo) || !/^https?:$/.test(new URL(forwardTo).protocol))
    throw new UsageError('--forward-to must be an http or https address');
  const { hostname } = new URL(forwardTo);
  if (allowRemote === true || /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return;
  throw new UsageError(`${hostname} is not this machine; name it again with --allow-remote`);
};

const listen = async (admin: Admin, { endpoint, forwardTo }: Options, output: Output): Promise<void> => {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    const next = await admin.forwardEvents.follow(endpoint);
    output.error(`Forwarding ${endpoint} to ${forwardTo} from now on. Ctrl-C ends it.`);
    while (!stop.signal.aborted) {
      const events = await through(next, stop.signal, output);
      for (const event of events) {
        const line = await through(() => send(admin, { endpoint, forwardTo }, event, stop.signal), stop.signal, output);
        if (stop.signal.aborted) return;
        show(line as Line, output);
      }
      if (events.length === 0) await pause(pollMs, stop.signal);
    }
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms, undefined, { signal }).catch(() => undefined);

/** The store may be away for a moment, when it is started again: what was to be done is done then. */
const through = async <T>(action: () => Promise<T>, signal: AbortSignal, output: Output): Promise<T> => {
  for (let isKnown = false; ; isKnown = true) {
    try {
      return await action();
    } catch (error) {
      if (!isTransient(error) || signal.aborted) throw error;
      if (!isKnown) output.error('The store does not answer; going on when it does.');
      await pause(troubleMs, signal);
    }
  }
};

const replay = async (admin: Admin, options: Options & { last: number }, output: Output): Promise<void> => {
  const lines: Line[] = [];
  for (const event of await admin.forwardEvents.latest(options.endpoint, options.last)) {
    const line = await send(admin, options, event, new AbortController().signal);
    lines.push(line);
    if (!output.json) show(line, output);
  }
  if (lines.some(({ failure }) => failure !== null)) output.fail();
  if (output.json) output.result({ forwarded: lines });
  else if (lines.length === 0) output.line('This endpoint has no deliveries yet.');
};

const send = async (
  admin: Admin,
  { endpoint, forwardTo }: Options,
  event: ForwardedEvent,
  signal: AbortSignal,
): Promise<Line> => {
  const time = new Date().toISOString();
  const { status, failure, ms } = await admin.forwardEvents.send(endpoint, event, forwardTo, signal);
  return { time, event: event.event, id: event.id, status, failure, ms };
};

const show = (line: Line, output: Output): void => {
  const { time, event, id, status, failure, ms } = line;
  output.line(output.json ? JSON.stringify(line) : `${time}  ${event}  ${id}  ${status ?? failure}  ${ms} ms`);
};
