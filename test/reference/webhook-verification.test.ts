/** The code of /docs/webhooks, run unchanged where its language is installed, and common libraries. */
import { execFile, execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startReceiver } from '../support/webhook-receiver.ts';
import { startEngine } from '../webhooks/harness/engine.ts';
import { startGatewayAlone } from './gateway-alone.ts';
import { asLines, buildDriver, drivers } from './guide-claims/verify-drivers.ts';

const snippets = join(root, 'src/app/reference/snippets/verify');

type Delivery = { secret: string; headers: Record<string, string>; body: string; now: number };

/** Interface 12.3. */
const vector: Delivery = {
  secret: 'whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=',
  headers: {
    'webhook-id': 'evt_01',
    'webhook-timestamp': '1772362800',
    'webhook-signature':
      'v1,nDvDeDCy4Ic+uRqpMywAPyiMTAbzpPGZUp1VCLOkZ2E= v1a,huuvWs1mKKPA2BLdUutQOD4GTWcezhowG2H+SY1u0zLmxdXW4W62HNAlGg+hfT6+i9IR4crS3KNUe5QKqXwkBg==',
    'x-orderpass-signature': 'edaf05f89bfdb472afa7653fbc97ce261440ac3b23e42191d24f503687eb8715',
  },
  body: '{"event":"customer.changed","customer":{"uid":"cus_01"},"id":"evt_01","created":"2026-03-01T11:00:00.000Z","restuid":"rst_01","seq":42,"previous_seq":41,"change":"updated","changed_fields":["phone"]}',
  now: 1_772_362_800,
};

/** Two deliveries of the engine: one with a generated secret, one with a secret that is not base64. */
let sent: Delivery[];
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-verify-'));
  const [engine, receiver] = [await startEngine(), await startReceiver()];
  try {
    const secrets = [
      (await engine.addEndpoint(receiver.url)).secret,
      (await engine.addEndpoint(receiver.url, { secret: 'any-24-visible-characters-will-do' })).secret,
    ];
    engine.startWorker();
    await engine.record({ entity: 'cus_ü', seq: 1 });
    await until(() => receiver.received.length === 2);
    sent = secrets.map((secret) => {
      const fits = receiver.received.find(
        ({ headers, body }) =>
          headers['x-orderpass-signature'] === createHmac('sha256', secret).update(body).digest('hex'),
      );
      if (fits === undefined) throw new Error('a delivery is not signed with its secret');
      return { secret, headers: fits.headers as Record<string, string>, body: fits.body, now: Date.now() / 1000 };
    });
  } finally {
    await engine.close();
    await receiver.close();
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Deliveries, each with whether it must be accepted. */
const cases = (): [name: string, delivery: Delivery, isValid: boolean][] => {
  const changed = (delivery: Delivery, headers: Record<string, string>, more: Partial<Delivery> = {}): Delivery => ({
    ...delivery,
    headers: { ...delivery.headers, ...headers },
    ...more,
  });
  const signature = vector.headers['webhook-signature'] ?? '';
  const other = `v1,${Buffer.alloc(32).toString('base64')}`;
  return [
    ['the test vector', vector, true],
    ...sent.map((delivery, index): [string, Delivery, boolean] => [`delivery ${index}`, delivery, true]),
    ['the old secret beside the new one', changed(vector, { 'webhook-signature': `${other} ${signature}` }), true],
    ['299 s later', changed(vector, {}, { now: vector.now + 299 }), true],
    ['302 s later', changed(vector, {}, { now: vector.now + 302 }), false],
    ['302 s too early', changed(vector, {}, { now: vector.now - 302 }), false],
    ['another body', changed(vector, {}, { body: vector.body.replace('cus_01', 'cus_02') }), false],
    ['another id', changed(vector, { 'webhook-id': 'evt_02' }), false],
    ['another time', changed(vector, { 'webhook-timestamp': '1772362801' }), false],
    ['no time', changed(vector, { 'webhook-timestamp': 'soon' }), false],
    ['another secret', changed(vector, {}, { secret: `whsec_${Buffer.alloc(24).toString('base64')}` }), false],
    ['another signature', changed(vector, { 'webhook-signature': other }), false],
    ['a short signature', changed(vector, { 'webhook-signature': 'v1,nDvD' }), false],
    ['v1a under the name of v1', changed(vector, { 'webhook-signature': signature.replace(/^\S+ v1a/, 'v1') }), false],
    ['no signature', changed(vector, { 'webhook-signature': '' }), false],
  ];
};

const checkAll = async (verify: (delivery: Delivery) => Promise<boolean>): Promise<void> => {
  const wanted = cases().map(([name, , isValid]) => [name, isValid]);
  const got: [string, boolean][] = [];
  for (const [name, delivery] of cases()) got.push([name, await verify(delivery)]);
  expect(got).toEqual(wanted);
};

/** A program that reads a delivery from standard input, as JSON unless said otherwise, and prints whether it is valid. */
const program =
  (command: string, args: readonly string[], write: (delivery: Delivery) => string = JSON.stringify) =>
  (delivery: Delivery): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const child = execFile(command, args, { cwd: folder, timeout: 60_000 }, (error, stdout, stderr) => {
        if (error !== null) return reject(new Error(`${command}: ${stderr}`));
        resolve(stdout.trim() === 'valid');
      });
      child.stdin?.end(write(delivery));
    });

/** Reports a program that is missing. */
const isInstalled = (command: string, args: readonly string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`webhook-verification: ${command} is not installed, its code was not run\n`);
    return false;
  }
};

test('A-130 the code for Node on the page accepts the test vector and real deliveries and refuses changed ones', async () => {
  const { verify } = (await import(join(snippets, 'verify.mjs'))) as {
    verify(secret: string, headers: Record<string, string>, body: Buffer, now: number): boolean;
  };
  await checkAll(async ({ secret, headers, body, now }) => verify(secret, headers, Buffer.from(body), now));
});

test.skipIf(!isInstalled('python3', ['--version']))('A-130 the code for Python on the page does the same', async () => {
  copyFileSync(join(snippets, 'verify.py'), join(folder, 'verify.py'));
  const driver = `
import json, sys
from verify import verify
d = json.load(sys.stdin)
print("valid" if verify(d["secret"], d["headers"], d["body"].encode(), d["now"]) else "refused")`;
  writeFileSync(join(folder, 'driver.py'), driver);
  await checkAll(program('python3', ['-B', 'driver.py']));
});

test.skipIf(!isInstalled('php', ['--version']))('A-130 the code for PHP on the page does the same', async () => {
  copyFileSync(join(snippets, 'verify.php'), join(folder, 'verify.php'));
  const driver = `<?php
require 'verify.php';
$d = json_decode(file_get_contents('php://stdin'), true);
echo verify($d['secret'], $d['headers'], $d['body'], (int) $d['now']) ? 'valid' : 'refused';`;
  writeFileSync(join(folder, 'driver.php'), driver);
  await checkAll(program('php', ['driver.php']));
});

test.skipIf(!isInstalled('go', ['version']))('A-130 the code for Go on the page does the same', async () => {
  copyFileSync(join(snippets, 'verify.go'), join(folder, 'verify.go'));
  writeFileSync(join(folder, 'go.mod'), 'module receiver\n\ngo 1.19\n');
  const driver = `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	var d struct {
		Secret  string
		Headers map[string]string
		Body    string
		Now     float64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&d); err != nil {
		panic(err)
	}
	header := http.Header{}
	for name, value := range d.Headers {
		header.Set(name, value)
	}
	if verify(d.Secret, header, []byte(d.Body), time.Unix(int64(d.Now), 0)) {
		fmt.Println("valid")
	}
}
`;
  writeFileSync(join(folder, 'main.go'), driver);
  execFileSync('go', ['build', '-o', 'receiver', '.'], { cwd: folder });
  await checkAll(program(join(folder, 'receiver'), []));
});

for (const driver of drivers) {
  const [command, ...args] = driver.probe;
  test.skipIf(!isInstalled(command, args))(
    `A-130 the code for ${driver.language} on the page does the same`,
    async () => {
      const [run, ...options] = buildDriver(driver, snippets, folder);
      await checkAll(program(run, options, asLines));
    },
  );
}

test('A-130 the libraries standardwebhooks and svix accept a real delivery, and refuse changed ones', () => {
  const [{ secret, headers, body } = vector] = sent;
  for (const library of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
    library.verify(body, headers);
    expect(() => library.verify(body.replace('cus_', 'cus-'), headers)).toThrow();
    expect(() => library.verify(body, { ...headers, 'webhook-id': 'evt_other' })).toThrow();
  }
});

test('A-130 HMAC code as integrations on other platforms have it accepts the plain header, whatever the kind of secret', () => {
  const hash_hmac = (algorithm: string, data: string, key: string): string =>
    createHmac(algorithm, key).update(data).digest('hex');
  const hash_equals = (known: string, given: string): boolean => known === given;
  const receive = ($secret: string, $body: string, $_SERVER: Record<string, string>): number => {
    const $signature = $_SERVER.HTTP_X_ORDERPASS_SIGNATURE ?? '';
    const $expected = hash_hmac('sha256', $body, $secret);
    if (!hash_equals($expected, $signature)) return 401;
    return 200;
  };
  for (const { secret, headers, body } of [vector, ...sent]) {
    const server = { HTTP_X_ORDERPASS_SIGNATURE: headers['x-orderpass-signature'] ?? '' };
    expect(receive(secret, body, server)).toBe(200);
    expect(receive(secret, `${body} `, server)).toBe(401);
    expect(receive(`${secret}x`, body, server)).toBe(401);
  }
});

test('the page shows exactly the code that was run, and the other pages lead to it', async () => {
  const gateway = await startGatewayAlone({ ORDERPASS_SIGNATURE_HEADER: 'X-House-Signature' });
  try {
    const read = async (path: string): Promise<string> => {
      const answer = await fetch(gateway.url + path);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      return (await answer.text())
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&');
    };
    const page = await read('/docs/webhooks');
    for (const file of readdirSync(snippets))
      expect(page).toContain((await readFile(join(snippets, file), 'utf8')).trimEnd());
    expect(page).toContain(vector.body);
    expect(page).toContain('<code>X-House-Signature</code>');
    for (const other of ['/docs/start', '/docs/errors']) expect(await read(other)).toContain('href="/docs/webhooks"');
  } finally {
    await gateway.stop();
  }
});
