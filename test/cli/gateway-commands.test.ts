/**
 * Every command that the gateway's operators are promised: its options, its help, and how it ends when it cannot do its
 * work.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type CommandResult, runCommand, runWithInput } from '../support/program.ts';

let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
  // The first command makes the tables.
  expect((await runCommand(['client', 'list', '--json'], env)).code).toBe(0);
});

afterAll(() => database?.drop());

/** Command and the options that its help must name. */
const commands: [string, string[]][] = [
  ['client create', ['--name', '--restaurant', '--scope', '--introspect', '--dpop']],
  ['client list', []],
  ['client show', ['--client-id']],
  ['client rotate-secret', ['--client-id', '--overlap-hours']],
  ['client retire-secret', ['--client-id', '--secret-id', '--force']],
  ['client add-key', ['--client-id', '--jwk']],
  ['client trust', ['--client-id', '--issuer', '--subject', '--audience', '--jwks-uri', '--reusable']],
  ['client trusts', ['--client-id']],
  ['client untrust', ['--client-id', '--trust-id']],
  ['client quarantine', ['--client-id', '--reason']],
  ['client reactivate', ['--client-id', '--reason']],
  ['client grant', ['--client-id', '--restaurant']],
  ['client withdraw', ['--client-id', '--restaurant']],
  ['client scopes', ['--client-id', '--scope']],
  ['client revoke-tokens', ['--client-id', '--before']],
  ['key list', ['--restaurant']],
  ['key rotate', ['--key-id', '--overlap-hours', '--expires']],
  ['key revoke', ['--key-id', '--restaurant']],
  ['token revoke', []],
  ['signing-key rotate', []],
  ['policy report', ['--days']],
  ['upstream key', []],
  [
    'audit search',
    ['--fingerprint', '--client', '--restaurant', '--decision', '--request-id', '--since', '--until', '--before'],
  ],
  ['audit export', ['--format', '--after', '--cursor-file']],
  ['audit verify', []],
  ['audit who', ['--revoke']],
  ['audit unused-scopes', ['--days']],
];

const everyCommand = `
  const { runCommandLine } = await import(process.argv[1]);
  for (const argv of JSON.parse(process.argv[2])) {
    const code = await runCommandLine(argv);
    await new Promise((done) => process.stdout.write('<' + code + '>\\u0001', done));
    await new Promise((done) => process.stderr.write('\\u0001', done));
  }`;

/** One process for all: to start one takes longer than what it does here. */
const runEach = async (all: readonly string[][], variables: Record<string, string> = {}): Promise<CommandResult[]> => {
  const entry = new URL('../../src/cli/index.ts', import.meta.url).href;
  const child = spawn(process.execPath, ['--input-type=module', '-e', everyCommand, entry, JSON.stringify(all)], {
    env: { PATH: process.env.PATH ?? '', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const said = stdout.split('\u0001').slice(0, -1);
  expect(said).toHaveLength(all.length);
  const complained = stderr.split('\u0001');
  return said.map((one, i) => {
    const [, out = '', code] = /^(.*)<(\d+)>$/s.exec(one) ?? [];
    return { code: Number(code), stdout: out, stderr: complained[i] ?? '' };
  });
};

const timeoutMs = 120_000;

test(
  'the help of each command lists its options and --json and exits with 0',
  async () => {
    const results = await runEach(commands.map(([name]) => [...name.split(' '), '--help']));
    for (const [i, [name, options]] of commands.entries()) {
      const { code, stdout, stderr } = results[i] ?? { code: -1, stdout: '', stderr: '' };
      expect([name, code, stderr]).toEqual([name, 0, '']);
      const named = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option);
      expect([name, named]).toEqual([name, expect.arrayContaining([...options, '--json'])]);
    }
  },
  timeoutMs,
);

test(
  'an option that does not exist is wrong usage everywhere: 2, a sentence on stderr, nothing on stdout',
  async () => {
    const results = await runEach(commands.map(([name]) => [...name.split(' '), '--nonsense', '--json']));
    for (const [i, { code, stdout, stderr }] of results.entries()) {
      const name = commands[i]?.[0];
      expect([name, code, stdout]).toEqual([name, 2, '']);
      expect([name, stderr]).toEqual([name, expect.stringMatching(/^error: (unknown|required) option '-/)]);
    }
  },
  timeoutMs,
);

const absent = ['--client-id', 'opc_absent'];

test(
  'a named target that does not exist is exit code 1 with one sentence on stderr, and with --json nothing on stdout',
  async () => {
    const cases: string[][] = [
      ['client', 'show', ...absent],
      ['client', 'rotate-secret', ...absent],
      ['client', 'retire-secret', ...absent, '--secret-id', 'ops_absent'],
      ['client', 'quarantine', ...absent, '--reason', 'x'],
      ['client', 'reactivate', ...absent, '--reason', 'x'],
      ['client', 'grant', ...absent, '--restaurant', 'rst_absent'],
      ['client', 'withdraw', ...absent, '--restaurant', 'rst_absent'],
      ['client', 'scopes', ...absent, '--scope', 'read:menu'],
      ['client', 'revoke-tokens', ...absent],
      ['key', 'list', '--restaurant', 'rst_absent'],
      ['key', 'rotate', '--key-id', 'absent'],
      ['key', 'revoke', '--key-id', 'absent'],
      ['key', 'revoke', '--restaurant', 'rst_absent'],
    ];
    const results = await runEach(
      cases.map((args) => [...args, '--json']),
      env,
    );
    for (const [i, { code, stdout, stderr }] of results.entries()) {
      expect({ args: cases[i], code, stdout }).toEqual({ args: cases[i], code: 1, stdout: '' });
      expect(stderr).toMatch(/\w/);
      expect(stderr).not.toMatch(/\bat .*\.ts:\d+/);
    }
  },
  timeoutMs,
);

test(
  'commands without required data print exactly one JSON object on an empty database',
  async () => {
    const cases: [string[], string[]][] = [
      [['client', 'list'], ['clients']],
      [['policy', 'report'], []],
      [['audit', 'search'], ['events']],
      [['audit', 'verify'], []],
      [['audit', 'unused-scopes'], []],
      [['signing-key', 'rotate'], []],
    ];
    const results = await runEach(
      cases.map(([args]) => [...args, '--json']),
      env,
    );
    for (const [i, { code, stdout, stderr }] of results.entries()) {
      const [args, members] = cases[i] ?? [[], []];
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      const made: unknown = JSON.parse(stdout);
      expect(made).toBeInstanceOf(Object);
      expect(Array.isArray(made)).toBe(false);
      expect(Object.keys(made as object)).toEqual(expect.arrayContaining(members));
    }
  },
  timeoutMs,
);

test(
  'A-735 a time whose day does not exist, or that is only a number, is wrong usage',
  async () => {
    const never = '2999-11-31T23:59:59Z';
    const certificate = ['client', 'add-certificate', ...absent, '--cert', 'absent.pem'];
    const wrong: string[][] = [
      ['key', 'rotate', '--key-id', 'absent', '--expires', never],
      [...certificate, '--expires', never],
      ['client', 'revoke-tokens', ...absent, '--before', never],
      ['client', 'revoke-tokens', ...absent, '--before', '2026-02-30T00:00:00Z'],
      ['sandbox', 'clock', 'set', never, '--restaurant', 'absent'],
      ['audit', 'search', '--since', never],
      ['audit', 'search', '--until', '2026-02-30'],
      ['audit', 'search', '--since', '5'],
      ['audit', 'search', '--since', '-7'],
      ['requests', ...absent, '--since', never],
    ];
    const right: string[][] = ['2026-02-28', '2024-02-29T10:00Z', '2026-02-28T10:00:00.5+01:00'].map((time) => [
      'audit',
      'search',
      '--since',
      time,
    ]);
    const results = await runEach([...wrong, ...right], env);
    for (const [i, args] of wrong.entries()) expect([args, results[i]?.code]).toEqual([args, 2]);
    for (const [i, args] of right.entries()) expect([args, results[wrong.length + i]?.code]).toEqual([args, 0]);
  },
  timeoutMs,
);

test(
  'values of a wrong form are wrong usage, and never part of what is printed when they may be secret',
  async () => {
    const cases: string[][] = [
      ['client', 'rotate-secret', ...absent, '--overlap-hours', 'long'],
      ['client', 'scopes', ...absent, '--scope', ' '],
      ['client', 'revoke-tokens', ...absent, '--before', 'yesterday'],
      ['client', 'create', '--name', 'x', '--restaurant', 'r', '--dpop', 'maybe'],
      ['key', 'revoke'],
      ['policy', 'report', '--days', 'many'],
      ['audit', 'unused-scopes', '--days', 'many'],
      ['audit', 'search', '--decision', 'perhaps'],
      ['audit', 'search', '--limit', 'all'],
      ['audit', 'export', '--format', 'xml'],
    ];
    const results = await runEach(
      cases.map((args) => [...args, '--json']),
      env,
    );
    for (const [i, { code, stdout }] of results.entries())
      expect({ args: cases[i], code, stdout }).toEqual({ args: cases[i], code: 2, stdout: '' });
    const secret = `ops_${randomBytes(20).toString('hex')}`;
    for (const args of [
      ['token', 'revoke', '--json'],
      ['audit', 'who', '--json'],
    ]) {
      const { code, stdout, stderr }: CommandResult = await runWithInput(args, env, secret);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(stderr).not.toContain(secret);
    }
  },
  timeoutMs,
);
