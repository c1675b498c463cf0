/** Text of a receiver. */
import { z } from 'zod';

/** Half of a surrogate pair is no character: PostgreSQL refuses it in JSON, and elsewhere it would become another character. */
export const unicodeText = z.string().refine((text) => text.isWellFormed(), 'must be valid Unicode');
