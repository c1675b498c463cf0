/** Commands on streams of security events (Shared Signals). */
import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

const reaches = ['own', 'all', 'off'] as const;

export const signalCommands = (program: Command, output: Output): void => {
  const group = program.command('signals').description('streams of security events that clients receive');
  group
    .command('list')
    .description('list streams with their status and the number of events that wait, 500 at a time')
    .option('--after <id>', 'the last stream of the page before')
    .action(async (options: { after?: string }, command: Command) => {
      output.result(toWire({ streams: await withAdmin(command, ({ signals }) => signals.list(options.after)) }));
    });
  group
    .command('pause')
    .description('stop the deliveries of a stream; its events wait for seven days, and its receiver can enable it')
    .argument('<id>', 'the stream')
    .requiredOption('--reason <text>', 'the receiver reads it')
    .action(async (id: string, options: { reason: string }, command: Command) => {
      await withAdmin(command, ({ signals }) => signals.pause(id, options.reason));
      output.result({ stream_id: id, status: 'paused', reason: options.reason });
    });
  group
    .command('resume')
    .description('enable a paused or disabled stream; the events that waited in a paused one are sent')
    .argument('<id>', 'the stream')
    .action(async (id: string, _options: unknown, command: Command) => {
      await withAdmin(command, ({ signals }) => signals.resume(id));
      output.result({ stream_id: id, status: 'enabled' });
    });
  group
    .command('rotate-signing-key')
    .description('create a new key for events: listed now, signing in a day; the old one is listed for seven more days')
    .action(async (_options: unknown, command: Command) => {
      output.result(toWire(await withAdmin(command, ({ signals }) => signals.rotateKey())));
    });
  group
    .command('delete')
    .description('delete a stream with its events')
    .argument('<id>', 'the stream')
    .action(async (id: string, _options: unknown, command: Command) => {
      await withAdmin(command, ({ signals }) => signals.remove(id));
      output.result({ stream_id: id, deleted: true });
    });
};

/** `client signals`. */
export const clientSignalsCommand = (group: Command, output: Output): void => {
  group
    .command('signals')
    .description('what a stream of the client gets: its own events, those of every client and key, or none')
    .argument('<reach>', 'own, all or off')
    .requiredOption('--client-id <id>', 'the client')
    .action(async (given: string, options: { clientId: string }, command: Command) => {
      const reach = reaches.find((one) => one === given);
      if (reach === undefined) throw new UsageError('The reach is own, all or off');
      await withAdmin(command, ({ signals }) => signals.setReach(options.clientId, reach));
      output.result({ client_id: options.clientId, signals: reach });
    });
};
