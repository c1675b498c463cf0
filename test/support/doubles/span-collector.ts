/** A little OTLP/HTTP collector on loopback: takes batches of spans as JSON and keeps what came. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Value = { stringValue?: string; intValue?: number; boolValue?: boolean };
type Attribute = { key: string; value: Value };

export type ReceivedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  isError: boolean;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
};

export type SpanCollector = {
  url: string;
  spans: ReceivedSpan[];
  /** Every byte of every body, as text. */
  text(): string;
  headers(): Record<string, unknown>[];
  paths(): string[];
  /** From now on requests are taken and never answered. */
  fallSilent(): void;
  close(): Promise<void>;
};

type Payload = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        status: { code?: number };
        attributes: Attribute[];
      }[];
    }[];
  }[];
};

const plain = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.boolValue ?? value]),
  );

export const startCollector = async (): Promise<SpanCollector> => {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const headers: Record<string, unknown>[] = [];
  const paths: string[] = [];
  let silent = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      paths.push(request.url ?? '');
      headers.push(request.headers);
      if (silent) return;
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      for (const { resource, scopeSpans } of (JSON.parse(body) as Payload).resourceSpans) {
        for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
          spans.push({
            ...{ traceId: span.traceId, spanId: span.spanId, parentSpanId: span.parentSpanId ?? '' },
            ...{ name: span.name, kind: span.kind, isError: span.status.code === 2 },
            attributes: plain(span.attributes),
            resource: plain(resource.attributes),
          });
        }
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => bodies.join('\n'),
    headers: () => headers,
    paths: () => paths,
    fallSilent: () => {
      silent = true;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
