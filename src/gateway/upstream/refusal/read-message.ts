/** Pure: finds the sentence of an upstream's refusal that its caller may read. Interface 6.3 lists the members in their order. */
import { STATUS_CODES } from 'node:http';
import { publicSentence } from './public-sentence.ts';
import { isObject } from './read-details.ts';

type Sources = {
  status: number;
  /** The parsed body; undefined when it is no JSON. */
  json: unknown;
  /** The body, when it is text/plain. */
  plain: string | undefined;
  /** `error_description` of the challenge. */
  challenge: string | undefined;
};

/** Undefined: no source says more than the status. */
export const readMessage = ({ status, json, plain, challenge }: Sources): string | undefined => {
  const body = isObject(json) ? json : {};
  const inner = innerOf(body);
  const sources = [
    ...[body.message, body.error_description, body.detail, body.title],
    ...[inner?.message, inner?.error_description, inner?.detail, inner?.title],
    ...[sentenceIn(body.error), plain, challenge],
  ];
  for (const source of sources) {
    const sentence = publicSentence(source);
    if (sentence !== undefined && !isReasonPhrase(sentence, status)) return sentence;
  }
  return undefined;
};

/** The object that some services put their refusal into. */
export const innerOf = (body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined =>
  [body.error, body.detail].find(isObject);

/** `Forbidden` says nothing that the status 403 does not say. */
export const isReasonPhrase = (text: string, status: number): boolean =>
  text.toLowerCase() === STATUS_CODES[status]?.toLowerCase();

/** A word in `error` is a code, several words are a sentence. */
const sentenceIn = (error: unknown): unknown =>
  typeof error === 'string' && /\S\s+\S/.test(error) ? error : undefined;
