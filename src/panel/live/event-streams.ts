/**
 * Server-sent events: one stream for a page, which is told that something changed and fetches it. Streams are few, for each
 * user and in all, and end with the session.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import type { Topic } from './topic.ts';

export type StreamDeps = {
  /** Between two looks at the session; shorter than what proxies take for silence. */
  beatMs: number;
  watch: (topic: Topic, subject: string, listener: (mark: string) => void) => () => void;
};

export type WatchedTopic = {
  topic: Topic;
  subject: string;
  /** What the page shows; the stream tells at once when that is no longer so. */
  mark: string | undefined;
};

export type EventStreams = {
  /** Throws RATE_LIMIT_EXCEEDED or OVERLOADED beyond the bounds. `isLive`: does the session go on? */
  open(
    exchange: { request: IncomingMessage; response: ServerResponse; headers: Readonly<Record<string, string>> },
    stream: { userId: string; topics: readonly WatchedTopic[]; isLive: () => Promise<boolean> },
  ): void;
  /** Ends every stream, so that the listener need not wait for them. */
  close(): void;
};

const perUserMax = 20;
const streamsMax = 1_000;
const waitingBytesMax = 64 * 1024;

export const createEventStreams = ({ watch, beatMs }: StreamDeps): EventStreams => {
  const open = new Set<{ userId: string; end: () => void }>();
  let closed = false;
  return {
    open: ({ request, response, headers }, { userId, topics, isLive }) => {
      // Whoever left while the session was looked up is not heard to leave again, and would be kept for ever.
      if (response.destroyed || request.socket.destroyed) return;
      if (closed) throw new Fault('OVERLOADED', 'The program is being stopped');
      if (open.size >= streamsMax) throw new Fault('OVERLOADED', 'Too many pages are open');
      if ([...open].filter((stream) => stream.userId === userId).length >= perUserMax)
        throw new Fault('RATE_LIMIT_EXCEEDED', 'Too many pages are open');
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write(': here\n\n');
      const ends = topics.map(({ topic, subject, mark }) => {
        let told = mark;
        return watch(topic, subject, (current) => {
          if (current === told) return;
          // Somebody who does not read must not fill our memory; the browser comes back.
          if (response.writableLength > waitingBytesMax) return void response.destroy();
          const isFirst = told === undefined;
          told = current;
          if (!isFirst) response.write(`event: ${topic.name}\ndata: changed\n\n`);
        });
      });
      const beat = setInterval(() => {
        isLive().then(
          (live) => {
            if (live) response.write(': still here\n\n');
            else response.end('event: signed-out\ndata: \n\n');
          },
          // Whether it goes on is not known now; it is asked again.
          () => undefined,
        );
      }, beatMs);
      const stream = { userId, end: () => response.end() };
      open.add(stream);
      request.socket.setNoDelay(true);
      response.once('close', () => {
        clearInterval(beat);
        for (const end of ends) end();
        open.delete(stream);
      });
    },
    close: () => {
      closed = true;
      for (const { end } of [...open]) end();
    },
  };
};
