/**
 * The command line: one file per group of commands. A command opens the running embedded store or DATABASE_URL. With
 * `--json` it prints exactly one JSON object on stdout. Errors go to stderr: exit code 1, or 2 for wrong usage.
 */
import { Command, CommanderError } from 'commander';
import { SettingsError } from '#src/app/settings/settings-error.ts';
import { Fault, type FaultDetail } from '#src/contract/fault.ts';
import { programCommit, programVersion } from '#src/platform/files/release.ts';
import { auditCommands } from './commands/audit/audit.ts';
import { clientCommands } from './commands/clients/client.ts';
import { keyCommands } from './commands/clients/key.ts';
import { policyCommands } from './commands/clients/policy.ts';
import { requestsCommand } from './commands/clients/requests.ts';
import { signalCommands } from './commands/clients/signals.ts';
import { signingKeyCommands } from './commands/clients/signing-key.ts';
import { tokenCommands } from './commands/clients/token.ts';
import { usageCommand } from './commands/clients/usage.ts';
import { backupCommands } from './commands/program/backup.ts';
import { configCommands } from './commands/program/config.ts';
import { masterKeyCommands } from './commands/program/master-key.ts';
import { migrateCommand } from './commands/program/migrate.ts';
import { moveCommand } from './commands/program/move.ts';
import { routesCommands } from './commands/program/routes.ts';
import { startCommand } from './commands/program/start.ts';
import { upstreamCommands } from './commands/program/upstream.ts';
import { remoteCommands } from './commands/remote/remote.ts';
import { loginWithoutInstallation } from './commands/remote/remote-server.ts';
import { generatorCommands } from './commands/restaurants/generator.ts';
import { locationCommands } from './commands/restaurants/location.ts';
import { menuCommands } from './commands/restaurants/menu.ts';
import { restaurantCommands } from './commands/restaurants/restaurant.ts';
import { sandboxCommands } from './commands/restaurants/sandbox.ts';
import { userCommands } from './commands/users/user.ts';
import { endpointCommands } from './commands/webhooks/endpoint.ts';
import { forwardCommands } from './commands/webhooks/forward.ts';
import { notificationsCommands } from './commands/webhooks/notifications.ts';
import { webhookCommands } from './commands/webhooks/webhook.ts';
import { createOutput, type Output, UsageError } from './terminal/output.ts';
import { resolveNames } from './terminal/resolve-names.ts';

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

/** Every command, for a run and for the table in README.md. */
export const createProgram = (output: Output): Command => {
  const program = new Command('orderpass')
    .description('OAuth 2.0 gateway, ordering core and webhook engine for restaurants')
    .version(programCommit === undefined ? programVersion : `${programVersion} (commit ${programCommit})`)
    .option('--config <file>', 'settings file (JSON); environment variables take precedence')
    .option('--json', 'print exactly one JSON object on stdout')
    .showHelpAfterError('Run with --help for usage.')
    .addHelpText('after', examples)
    .configureOutput({ writeErr: (text) => process.stderr.write(text) });
  for (const { heading, commands } of groups) {
    program.commandsGroup(`${heading}:`);
    for (const add of commands) add(program, output);
  }
  const hasOnlyLogin = async (command: Command): Promise<boolean> =>
    (await loginWithoutInstallation(command)) !== undefined;
  program.hook('preAction', (_program, command) => resolveNames(command, hasOnlyLogin));
  forEachCommand(program, (command) => {
    command.exitOverride();
    // --json and --config are accepted after the command as well as before it.
    if (command !== program)
      command.option('--json', 'print one JSON object').option('--config <file>', 'settings file (JSON)');
  });
  return program;
};

type AddCommands = (program: Command, output: Output) => void;

/** By the task of a person: the help lists them so. */
const groups: readonly { heading: string; commands: readonly AddCommands[] }[] = [
  {
    heading: 'Run',
    commands: [
      startCommand,
      configCommands,
      routesCommands,
      upstreamCommands,
      migrateCommand,
      backupCommands,
      moveCommand,
    ],
  },
  {
    heading: 'Use the API of a server, without an installation',
    commands: [remoteCommands, tokenCommands, forwardCommands],
  },
  {
    heading: 'Restaurants',
    commands: [restaurantCommands, locationCommands, generatorCommands, menuCommands, sandboxCommands],
  },
  { heading: 'Credentials', commands: [keyCommands, clientCommands, usageCommand, requestsCommand, policyCommands] },
  { heading: 'Webhooks', commands: [endpointCommands, webhookCommands, notificationsCommands] },
  {
    heading: 'Security',
    commands: [auditCommands, signalCommands, signingKeyCommands, masterKeyCommands, userCommands],
  },
];

const examples = `
Examples:
  orderpass start                                                       run everything, with a demo on the first start
  orderpass client create --name till --restaurant 'Trattoria da Ada'   a client, by the name of its restaurant
  orderpass audit search --client opc_… --decision deny              why a client was refused
  orderpass login --url https://orders.example --client-id opc_…        then: whoami, token get, listen, replay

Every command has --help, and --json for scripts. In place of the id of a restaurant, client, key or endpoint its name will do, where one alone has it.`;

const forEachCommand = (command: Command, visit: (command: Command) => void): void => {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
};

/** Only people at the command line can change settings, so the hint is not part of the interface's text. */
const hintOf = ({ code, message }: FaultDetail): string =>
  code === 'TARGET_REFUSED' && /https:\/\/|private address/.test(message)
    ? '; for a trial, ORDERPASS_ALLOW_PRIVATE_TARGETS=true allows http, loopback and private addresses: set it for `start` and for this command'
    : '';

const report = (error: unknown, output: Output): number => {
  if (error instanceof CommanderError) {
    // Commander reports help and version as errors with code 0; a group without a command is wrong usage.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    output.error(error.message);
    return 2;
  }
  if (error instanceof SettingsError) {
    output.error(
      `The settings are invalid:\n${error.problems.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
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
