/**
 * `listen` and `replay`: send webhooks of an endpoint, signed again, to a developer's own machine. The events come from
 * this installation, or with `--url` or a login from a remote server.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { remoteCaller } from '#src/app/settings/remote-caller.ts';
import type { ForwardEvents } from '#src/app/webhooks/forward-events.ts';
import { onStop } from '../../terminal/on-stop.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { isHere, loginWithoutInstallation, remoteServer } from '../remote/remote-server.ts';

type Options = { endpoint: string; forwardTo: string; allowRemote?: boolean; url?: string; restaurant?: string };
type ForwardedEvent = { id: string; event: string; body: string };
type Line = { time: string; event: string; id: string; status: number | null; failure: string | null; ms: number };

const pollMs = 250;
const lastMax = 100;

export const forwardCommands = (program: Command, output: Output): void => {
  forwarding(program, 'listen', 'forward new webhooks of an endpoint to an address on this machine')
    .addHelpText('after', '\nPrints one line per event; with --json one JSON object per event. Ctrl-C ends it.')
    .action((options: Options, command: Command) => {
      assertTarget(options);
      return withEvents(command, options, (events) => listen(events, options, output));
    });
  forwarding(program, 'replay', 'send the last webhooks of an endpoint again, to an address on this machine')
    .option('--last <n>', `how many, up to ${lastMax}`, count, 10)
    .addHelpText('after', '\nOldest first. Exit code 1 if an answer was not 2xx.')
    .action((options: Options & { last: number }, command: Command) => {
      assertTarget(options);
      return withEvents(command, options, (events) => replay(events, options, output));
    });
};

const forwarding = (program: Command, name: string, description: string): Command =>
  program
    .command(name)
    .description(description)
    .requiredOption('--endpoint <uid>', 'the endpoint (`webhook list` lists them): its kinds, its secret')
    .requiredOption('--forward-to <url>', 'where to send them, e.g. http://localhost:3000/hook')
    .option('--allow-remote', 'allow an address on another machine; customer data then leaves this one')
    .option('--url <url>', 'take the events from a remote server, e.g. https://orders.example; see below')
    .option(
      '--restaurant <restuid>',
      'with --url, if the credential has several; else, where --endpoint is an address or a description',
    )
    .addHelpText('after', remoteHelp);

const remoteHelp = `
With --url the caller is ORDERPASS_API_KEY, or ORDERPASS_CLIENT_ID and ORDERPASS_CLIENT_SECRET of the environment, or the
login of that server. On a machine without an installation the server is that of the last login. The caller
needs read:webhooks and the read scopes of the endpoint's kinds. It cannot know the endpoint's secret: what is forwarded is
signed with a secret that is made and printed for this run, or with ORDERPASS_WEBHOOK_SECRET (webhook-signature has v1 only).`;

const withEvents = async (
  command: Command,
  options: Options,
  run: (events: ForwardEvents) => Promise<void>,
): Promise<void> => {
  const server = options.url === undefined ? await loginWithoutInstallation(command) : remoteServer(options.url);
  if (server === undefined) return withAdmin(command, (admin) => run(admin.forwardEvents));
  const { createRemoteEvents, isSecret, secretRule } = await import('#src/app/webhooks/remote-events.ts');
  const { secret } = remoteCaller();
  if (secret !== undefined && !isSecret(secret)) throw new UsageError(`ORDERPASS_WEBHOOK_SECRET must be ${secretRule}`);
  const events = createRemoteEvents({ ...server, secret, restuid: options.restaurant });
  try {
    await run(events);
  } finally {
    await events.close();
  }
};

const count = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > lastMax) throw new InvalidArgumentError(`1 to ${lastMax}`);
  return value;
};

const assertTarget = ({ forwardTo, allowRemote }: Options): void => {
  if (!URL.canParse(forwardTo) || !/^https?:$/.test(new URL(forwardTo).protocol))
    throw new UsageError('--forward-to must be an http or https address');
  const { hostname } = new URL(forwardTo);
  if (allowRemote === true || isHere(hostname)) return;
  throw new UsageError(`${hostname} is not this machine; add --allow-remote to allow it`);
};

const listen = async (events: ForwardEvents, { endpoint, forwardTo }: Options, output: Output): Promise<void> => {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const ignoreStop = onStop(end);
  // Without a reader of its lines the command would forward for ever and show nothing.
  process.stdout.once('error', end);
  try {
    const next = await events.follow(endpoint);
    if (events.note !== undefined) output.error(events.note);
    output.error(`Forwarding ${endpoint} to ${forwardTo} from now on. Ctrl-C ends it.`);
    while (!stop.signal.aborted) {
      const page = await through(next, events, stop.signal, output);
      for (const event of page ?? []) {
        const sending = (): Promise<Line> => send(events, { endpoint, forwardTo }, event, stop.signal);
        const line = await through(sending, events, stop.signal, output);
        if (stop.signal.aborted || line === undefined) return;
        show(line, output);
      }
      if (page?.length === 0) await pause(pollMs, stop.signal);
    }
  } finally {
    ignoreStop();
    process.stdout.off('error', end);
  }
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms, undefined, { signal }).catch(() => undefined);

/** Repeats the work while the source of events is away. Undefined: the signal ended it first. */
const through = async <T>(
  action: () => Promise<T>,
  { retryMs }: ForwardEvents,
  signal: AbortSignal,
  output: Output,
): Promise<T | undefined> => {
  for (let isKnown = false; !signal.aborted; isKnown = true) {
    try {
      return await action();
    } catch (error) {
      const ms = retryMs(error);
      if (ms === undefined) throw error;
      if (!isKnown) output.error('The events cannot be read now; the command continues as soon as they can.');
      await pause(ms, signal);
    }
  }
  return undefined;
};

const replay = async (events: ForwardEvents, options: Options & { last: number }, output: Output): Promise<void> => {
  const lines: Line[] = [];
  const latest = await events.latest(options.endpoint, options.last);
  if (events.note !== undefined) output.error(events.note);
  for (const event of latest) {
    const line = await send(events, options, event, new AbortController().signal);
    lines.push(line);
    if (!output.json) show(line, output);
  }
  if (lines.some(({ failure }) => failure !== null)) output.fail();
  if (output.json) output.result({ forwarded: lines });
  else if (lines.length === 0) output.line('The endpoint has no delivery to replay.');
};

const send = async (
  events: ForwardEvents,
  { endpoint, forwardTo }: Options,
  event: ForwardedEvent,
  signal: AbortSignal,
): Promise<Line> => {
  const time = new Date().toISOString();
  const { status, failure, ms } = await events.send(endpoint, event, forwardTo, signal);
  return { time, event: event.event, id: event.id, status, failure, ms };
};

const show = (line: Line, output: Output): void => {
  const { time, event, id, status, failure, ms } = line;
  output.line(output.json ? JSON.stringify(line) : `${time}  ${event}  ${id}  ${status ?? failure}  ${ms} ms`);
};
