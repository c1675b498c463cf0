/** The Dockerfile, as an engine and as `npm run image` read it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readImageConfig } from '../../../config/image/image-config.ts';
import { root } from '../../support/program.ts';
import { secretsAmong, unknownNames } from './settings-of.ts';

const dockerfile = readFileSync(join(root, 'config/Dockerfile'), 'utf8');
const config = readImageConfig(dockerfile);

test('A-271 the image copies what exists and what the program needs', () => {
  const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));
  expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([]);
  expect(sources).toEqual(
    expect.arrayContaining(['src', 'config', 'package.json', 'package-lock.json', 'tsconfig.json']),
  );
});

test('A-271 the image runs as a user without rights, and has a health check and no secret', () => {
  expect(config.User).toBe('65532:65532');
  expect(config.Entrypoint[0]).toBe('node');
  expect(existsSync(join(root, config.Entrypoint[1] ?? ''))).toBe(true);
  expect(config.Cmd).toEqual(['start']);
  expect(config.Healthcheck).toEqual({
    Test: ['CMD', 'node', '/app/health-check.mjs'],
    Interval: 10e9,
    Timeout: 10e9,
    StartPeriod: 20e9,
    Retries: 3,
  });
  const env = Object.fromEntries(config.Env.map((pair) => pair.split('=') as [string, string]));
  const names = Object.keys(env).filter((name) => name !== 'PATH');
  expect(unknownNames(names)).toEqual([]);
  expect(secretsAmong(names)).toEqual([]);
  expect(Object.keys(config.ExposedPorts)).toEqual(['8080/tcp', `${env.ORDERPASS_INTERNAL_PORT}/tcp`]);
});

test('A-271 the health check asks the address of the internal listener, and this machine where it listens on all', async () => {
  const server = createServer((_, answer) => answer.end());
  await once(server.listen(0, '127.0.0.2'), 'listening');
  const port = String((server.address() as AddressInfo).port);
  const check = async (host: string): Promise<number | null> => {
    const env = { ORDERPASS_INTERNAL_HOST: host, ORDERPASS_INTERNAL_PORT: port };
    const child = spawn(process.execPath, [join(root, 'config/image/health-check.mjs')], { env });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  };
  expect([await check('127.0.0.2'), await check('0.0.0.0')]).toEqual([0, 1]);
  server.close();
});

test('A-271 an instruction that the build without an engine cannot read is an error, not left out', () => {
  const stage = 'FROM a AS build\nRUN make\nFROM scratch\n';
  expect(readImageConfig(`${stage}# Why.\nENV A=1 \\\n  B="2 3"\n`).Env).toEqual([
    'PATH=/usr/local/bin',
    'A=1',
    'B=2 3',
  ]);
  expect(() => readImageConfig(`${stage}RUN make\n`)).toThrow('RUN');
});
