/**
 * Server-sent events: one stream for each open page. An event says that a topic changed, and the page fetches the new data
 * itself. The number of streams is limited for each user and in total, and a stream ends with its session.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import type { Topic } from './topic.ts';

export type StreamDeps = {
  /** Interval of the session checks; shorter than the idle timeout of usual proxies. */
  beatMs: number;
  watch: (topic: Topic, subject: string, listener: (mark: string) => void) => () => void;
};

export type WatchedTopic = {
  topic: Topic;
  subject: string;
  /** The mark that the page shows; when it is outdated already, the stream sends an event at once. */
  mark: string | undefined;
};

export type EventStreams = {
  /** Throws RATE_LIMIT_EXCEEDED or OVERLOADED beyond the limits. `isLive`: is the session still live? */
  open(
    request: IncomingMessage,
    response: ServerResponse,
    stream: { userId: string; topics: readonly WatchedTopic[]; isLive: () => Promise<boolean> },
  ): void;
  /** Ends every stream, so that the listener can close. */
  close(): void;
};

const perUserMax = 20;
const streamsMax = 1_000;
const waitingBytesMax = 64 * 1024;

export const createEventStreams = ({ watch, beatMs }: StreamDeps): EventStreams => {
  const open = new Set<{ userId: string; end: () => void }>();
  let closed = false;
  return {
    open: (request, response, { userId, topics, isLive }) => {
      // The client left while the session was read. Its close event has passed, so the stream would never be removed.
      if (response.destroyed || request.socket.destroyed) return;
      if (closed) throw new Fault('OVERLOADED', 'The program is being stopped');
      if (open.size >= streamsMax) throw new Fault('OVERLOADED', 'Too many pages are open');
      if ([...open].filter((stream) => stream.userId === userId).length >= perUserMax)
        throw new Fault('RATE_LIMIT_EXCEEDED', 'Too many pages are open');
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write(': here\n\n');
      // A stream may have ended and not be closed: behind another one on its connection nothing of it was sent.
      const send = (text: string): void => {
        if (!response.writableEnded) response.write(text);
      };
      const ends = topics.map(({ topic, subject, mark }) => {
        let shownMark = mark;
        return watch(topic, subject, (current) => {
          if (current === shownMark) return;
          // A client that does not read must not fill the memory; its browser reconnects.
          if (response.writableLength > waitingBytesMax) return void response.destroy();
          const isFirst = shownMark === undefined;
          shownMark = current;
          if (!isFirst) send(`event: ${topic.name}\ndata: changed\n\n`);
        });
      });
      const beat = setInterval(() => {
        isLive().then(
          (live) => {
            if (live) return send(': still here\n\n');
            send('event: signed-out\ndata: \n\n');
            finish();
          },
          // The session could not be read; the next beat checks it again.
          () => undefined,
        );
      }, beatMs);
      const stopWatching = (): void => {
        clearInterval(beat);
        for (const end of ends.splice(0)) end();
      };
      const finish = (): void => {
        stopWatching();
        if (!response.writableEnded) response.end();
      };
      const stream = { userId, end: finish };
      open.add(stream);
      request.socket.setNoDelay(true);
      response.once('error', () => response.destroy());
      response.once('close', () => {
        stopWatching();
        open.delete(stream);
      });
    },
    close: () => {
      closed = true;
      for (const { end } of [...open]) end();
    },
  };
};
