/**
 * The command line: one file per group of commands, all against the running embedded store or DATABASE_URL. With `--json`
 * a command prints exactly one JSON object on stdout. Errors go to stderr: exit code 1, or 2 for wrong usage.
 */
import { Command, CommanderError } from 'commander';
import { SettingsError } from '#src/app/config.ts';
import { Fault, type FaultDetail } from '#src/contract/fault.ts';
import { programVersion } from '#src/platform/log.ts';
import { auditCommands } from './commands/audit.ts';
import { clientCommands } from './commands/client.ts';
import { configCommands } from './commands/config.ts';
import { endpointCommands } from './commands/endpoint.ts';
import { forwardCommands } from './commands/forward.ts';
import { generatorCommands } from './commands/generator.ts';
import { keyCommands } from './commands/key.ts';
import { locationCommands } from './commands/location.ts';
import { menuCommands } from './commands/menu.ts';
import { migrateCommand } from './commands/migrate.ts';
import { notificationsCommands } from './commands/notifications.ts';
import { policyCommands } from './commands/policy.ts';
import { restaurantCommands } from './commands/restaurant.ts';
import { signingKeyCommands } from './commands/signing-key.ts';
import { startCommand } from './commands/start.ts';
import { tokenCommands } from './commands/token.ts';
import { userCommands } from './commands/user.ts';
import { webhookCommands } from './commands/webhook.ts';
import { createOutput, type Output, UsageError } from './output.ts';

/** Runs one command; resolves to the exit code. */
export const runCommandLine = async (argv: readonly string[]): Promise<number> => {
  const output = createOutput({ json: argv.includes('--json') });
  try {
    await createProgram(output).parseAsync(argv, { from: 'user' });
    return output.exitCode();
  } catch (error) {
    return report(error, output);
  }
};

const createProgram = (output: Output): Command => {
  const program = new Command('orderpass')
    .description('OAuth 2.0 gateway, ordering core and webhook engine for restaurants')
    .version(programVersion)
    .option('--config <file>', 'settings file (JSON); the environment wins over it')
    .option('--json', 'print exactly one JSON object on stdout')
    .showHelpAfterError('Run with --help to see how it is used.')
    .configureOutput({ writeErr: (text) => process.stderr.write(text) });
  for (const add of [
    startCommand,
    restaurantCommands,
    locationCommands,
    generatorCommands,
    menuCommands,
    keyCommands,
    clientCommands,
    tokenCommands,
    auditCommands,
    signingKeyCommands,
    endpointCommands,
    webhookCommands,
    forwardCommands,
    notificationsCommands,
    userCommands,
    policyCommands,
    configCommands,
    migrateCommand,
  ]) {
    add(program, output);
  }
  forEachCommand(program, (command) => {
    command.exitOverride();
    // People put --json and --config behind the command as well as before it.
    if (command !== program)
      command.option('--json', 'print one JSON object').option('--config <file>', 'settings file (JSON)');
  });
  return program;
};

const forEachCommand = (command: Command, visit: (command: Command) => void): void => {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
};

/** Callers of the interface cannot change settings; those at the command line can. */
const hintOf = ({ code, message }: FaultDetail): string =>
  code === 'TARGET_REFUSED' && /https:\/\/|private address/.test(message)
    ? '; for a trial, ORDERPASS_ALLOW_PRIVATE_TARGETS=true allows http, loopback and private addresses: set it for the start and for this command'
    : '';

const report = (error: unknown, output: Output): number => {
  if (error instanceof CommanderError) {
    // Help and version end through the same door, with code 0; a group without its command is wrong usage.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    output.error(error.message);
    return 2;
  }
  if (error instanceof SettingsError) {
    output.error(
      `These settings cannot be used:\n${error.problems.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
    );
    return 1;
  }
  if (error instanceof Fault) {
    const details = (error.errors ?? []).map((detail) => `  ${detail.pointer}: ${detail.message}${hintOf(detail)}`);
    output.error([error.publicText, ...details].join('\n'));
    return 1;
  }
  output.error(error instanceof Error ? error.message : String(error));
  return 1;
};
