/** The units of systemd: the program accepts what they set, and systemd accepts them. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../support/program.ts';
import { hasProgram, runProgram } from './programs.ts';
import { makeSecrets, problemsOf, secretsAmong, unknownNames } from './settings-of.ts';

const units = ['orderpass@.service', 'orderpass-migrate.service'] as const;
const textOf = (name: string): string => readFileSync(join(root, 'config/systemd', name), 'utf8');
const unit = `${textOf('orderpass@.service')}\n${textOf('orderpass@.service.d/redis.conf')}`;

const hasSystemd = hasProgram('systemd-analyze', ['--version']);

let secrets: string;

beforeAll(() => {
  secrets = makeSecrets();
});

afterAll(() => rmSync(secrets, { recursive: true }));

const valuesOf = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

const environmentOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    valuesOf(text, 'Environment')
      .flatMap((line) => line.split(' '))
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );

test.each(['gateway', 'ordering', 'worker'])(
  'A-272 the unit of role %s starts with settings that the program accepts',
  (role) => {
    const data = mkdtempSync(join(tmpdir(), 'orderpass-state-'));
    const values = Object.entries(environmentOf(unit)).map(([name, value]) => [
      name,
      value.replaceAll('%i', role).replaceAll('%d', secrets).replaceAll('%S', data),
    ]);
    // /etc/orderpass holds these, as config/deployment.md shows them.
    const files = {
      ORDERPASS_ORIGIN: 'https://api.example',
      ORDERPASS_INTERNAL_PORT: '8081',
      ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:8082',
    };
    expect(problemsOf({ ...files, ...Object.fromEntries(values) })).toEqual([]);
    rmSync(data, { recursive: true });
  },
);

test('A-272 units set only what the program reads, and give secrets as credentials', () => {
  for (const text of [unit, textOf('orderpass-migrate.service')]) {
    const env = environmentOf(text);
    const names = Object.keys(env).filter((name) => name !== 'NODE_ENV');
    expect(unknownNames(names)).toEqual([]);
    expect(secretsAmong(names)).toEqual([]);
    const loaded = valuesOf(text, 'LoadCredential').map((line) => `%d/${line.split(':')[0]}`);
    const read = Object.entries(env).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : []));
    expect(read.toSorted()).toEqual(loaded.toSorted());
    expect(read.length).toBeGreaterThan(0);
  }
});

test('A-272 a unit waits longer for a stop than drain and grace take', () => {
  const { ORDERPASS_DRAIN_MS: drain, ORDERPASS_GRACE_MS: grace } = environmentOf(unit);
  const [stop] = valuesOf(unit, 'TimeoutStopSec');
  expect(Number(stop) * 1000).toBeGreaterThan(Number(drain) + Number(grace) + 5_000);
});

/** The system calls of a group of systemd, whose members may be groups too. */
const callsOf = async (name: string): Promise<string[]> => {
  if (!name.startsWith('@')) return [name];
  const { stdout } = await runProgram('systemd-analyze', ['syscall-filter', '--no-pager', name]);
  const [, ...members] = stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(members.length).toBeGreaterThan(0);
  return (await Promise.all(members.map(callsOf))).flat();
};

test.runIf(hasSystemd)(
  'A-561 the filter of system calls lets the process of menu imports lower its priority',
  async () => {
    const allowed = new Set<string>();
    for (const line of valuesOf(textOf('orderpass@.service'), 'SystemCallFilter')) {
      const calls = (await Promise.all(line.replace('~', '').split(' ').map(callsOf))).flat();
      for (const call of calls) line.startsWith('~') ? allowed.delete(call) : allowed.add(call);
    }
    expect([...allowed]).toEqual(expect.arrayContaining(['execve', 'setpriority', 'setsid']));
    expect(allowed.has('sched_setscheduler')).toBe(false);
  },
);

test.runIf(hasSystemd)('A-272 systemd accepts the units, and rates their rights as small', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-units-'));
  try {
    // A command that exists; the package is not installed here.
    for (const name of units)
      writeFileSync(
        join(folder, name.replace('@.', '@gateway.')),
        textOf(name).replace('/usr/local/bin/orderpass', process.execPath),
      );
    const files = units.map((name) => `./${name.replace('@.', '@gateway.')}`);
    const verified = await runProgram('systemd-analyze', ['verify', '--man=no', ...files], folder);
    expect(verified).toEqual({ code: 0, stdout: '', stderr: '' });
    // In tenths; 0 is no right at all.
    const rated = await runProgram(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=40', ...files],
      folder,
    );
    expect([rated.code, rated.stderr]).toEqual([0, '']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The function of config/deployment.md that runs commands, with a systemd-run that prints its arguments. */
const askCommand = async (args: readonly string[]): Promise<string[]> => {
  const guide = readFileSync(join(root, 'config/deployment.md'), 'utf8');
  const [text = ''] = /^as_gateway\(\) \{\n[\s\S]*?^\}$/m.exec(guide) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-command-'));
  try {
    const double = join(folder, 'systemd-run');
    writeFileSync(double, '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    chmodSync(double, 0o755);
    const script = `PATH=${folder}:$PATH\n${text}\nas_gateway "$@"`;
    const { code, stdout, stderr } = await runProgram('sh', ['-c', script, 'sh', ...args]);
    expect([code, stderr]).toEqual([0, '']);
    return stdout.trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test('A-616 the documented way to run commands has user, folder, settings and secrets of the unit of the gateway', async () => {
  const command = ['client', 'list', '--name', 'two words'];
  const asked = await askCommand(command);
  expect(asked.slice(-5)).toEqual(['/usr/local/bin/orderpass', ...command]);
  const after = (option: string): string[] => asked.flatMap((one, i) => (asked[i - 1] === option ? [one] : []));
  const lines = unit.replaceAll('%i', 'gateway').split('\n');
  const properties = after('-p');
  expect(lines).toEqual(expect.arrayContaining(properties));
  const needed = /^(DynamicUser|User|UMask|StateDirectory|StateDirectoryMode|EnvironmentFile)=/;
  expect(properties).toEqual(expect.arrayContaining(lines.filter((line) => needed.test(line))));

  const own = environmentOf(unit.replaceAll('%i', 'gateway').replaceAll('%S', '/var/lib'));
  const folder = '${' + 'CREDENTIALS_DIRECTORY}/';
  const files = asked.slice(asked.indexOf('env') + 1, -5).map((one) => one.replace(folder, '%d/'));
  const given = environmentOf([...after('-E'), ...files].map((one) => `Environment=${one}`).join('\n'));
  expect(own).toMatchObject(given);
  expect(Object.keys(given).length).toBe(after('-E').length + files.length);
  // What they read is loaded.
  const loaded = valuesOf(properties.join('\n'), 'LoadCredential').map((line) => `%d/${line.split(':')[0]}`);
  expect(loaded.toSorted()).toEqual(files.map((one) => one.slice(one.indexOf('=') + 1)).toSorted());
  const settings = {
    ORDERPASS_ORIGIN: 'https://api.example',
    ORDERPASS_INTERNAL_PORT: '8081',
    ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:8082',
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.replace('%d', secrets)])),
  };
  // Three connections are enough for a gateway, and too few for a process of every role.
  expect(problemsOf({ ...settings, ORDERPASS_DATABASE_CONNECTIONS_MAX: '3' })).toEqual([]);
});

test('A-661 the drop-in of config/deployment.md for the embedded store leaves the master key as only secret, and lets the program migrate', () => {
  const guide = readFileSync(join(root, 'config/deployment.md'), 'utf8');
  const [, dropIn = ''] = /embedded\.conf`[\s\S]*?```ini\n([\s\S]*?)```/.exec(guide) ?? [];
  // An empty value removes the credentials of the unit; later lines add to what is left.
  const loaded = valuesOf(dropIn, 'LoadCredential');
  expect(loaded[0]).toBe('');
  const names = loaded.slice(1).map((line) => line.split(':')[0]);
  expect(valuesOf(unit, 'LoadCredential')).toEqual(expect.arrayContaining(loaded.slice(1)));
  const unset = new Set(valuesOf(dropIn, 'UnsetEnvironment').flatMap((line) => line.split(' ')));
  const all = { ...environmentOf(unit), ...environmentOf(dropIn) };
  const left = Object.fromEntries(Object.entries(all).filter(([name]) => !unset.has(name)));
  const read = Object.entries(left).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : []));
  expect(read).toEqual(names.map((name) => `%d/${name}`));
  expect(left.ORDERPASS_MIGRATE).toBe('auto');
  const data = mkdtempSync(join(tmpdir(), 'orderpass-state-'));
  const values = Object.entries(left).map(([name, value]) => [
    name,
    value.replaceAll('%i', 'all').replaceAll('%d', secrets).replaceAll('%S', data),
  ]);
  expect(problemsOf({ ORDERPASS_ORIGIN: 'https://api.example', ...Object.fromEntries(values) })).toEqual([]);
  rmSync(data, { recursive: true });
});

const hasSystemdRun = hasProgram('systemd-run', ['--version']);

test.runIf(hasSystemdRun)('A-616 systemd-run knows the options of that way', async () => {
  const asked = await askCommand([]);
  const { stdout } = await runProgram('systemd-run', ['--help']);
  const known = stdout.match(/(?<=[\s])-{1,2}\w[\w-]*/g) ?? [];
  const options = asked.slice(0, asked.indexOf('env')).filter((one) => /^--?[a-zA-Z]/.test(one));
  expect(known).toEqual(expect.arrayContaining(options));
  expect(options.length).toBeGreaterThan(10);
});
