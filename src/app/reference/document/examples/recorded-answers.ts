/**
 * The answers of the examples and the bodies of the events, as a run against the demo restaurant gave them, with the ids of
 * sample-ids.ts. `npm run examples` records them again; a test compares them with a run.
 */
import { readFileSync } from 'node:fs';
import { type Json, requestSamples } from './request-samples.ts';

type RecordedAnswers = {
  /** By operation id. */
  answers: Readonly<Record<string, Json>>;
  /** By event. */
  events: Readonly<Record<string, Json>>;
};

const recordedAnswers = (): RecordedAnswers =>
  JSON.parse(readFileSync(new URL('recorded-answers.json', import.meta.url), 'utf8')) as RecordedAnswers;

export type Examples = RecordedAnswers & {
  /** Path → examples by name, of `requestSamples`. */
  requests: Readonly<Record<string, Json>>;
};

/** `now`: when the document is made. */
export const examplesAt = (now: Date): Examples => ({ ...recordedAnswers(), requests: requestSamples(now) });
