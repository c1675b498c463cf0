/** Reads the fields of a posted form. */
import type { IncomingMessage } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import { readBody } from '#src/platform/http/read-body.ts';

const bytesMaxDefault = 64 * 1024;
const timeoutMs = 15_000;
const fieldsMax = 1_000;

/** Throws a Fault for another media type, for too many bytes or fields, and when the body takes longer than 15 s. */
export const readForm = async (request: IncomingMessage, bytesMax = bytesMaxDefault): Promise<URLSearchParams> => {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/x-www-form-urlencoded')
    throw new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send the form as application/x-www-form-urlencoded');
  const text = (await readBody(request, { bytesMax, timeoutMs })).toString('utf8');
  const form = new URLSearchParams(text);
  if (form.size > fieldsMax) throw new Fault('PAYLOAD_TOO_LARGE', 'The form has too many fields');
  // PostgreSQL cannot store U+0000, and a person cannot type it.
  if ([...form].some(([name, value]) => name.includes('\0') || value.includes('\0')))
    throw new Fault('VALIDATION_ERROR', 'A field holds U+0000');
  return form;
};
