/** Every generated file of the clients, as text. `write.ts` writes them; a test compares them with what is in the folder. */
import { programDocument } from './model/document.ts';
import { type Model, readModel } from './model/model.ts';
import type { GeneratedFile } from './model/text.ts';
import { pythonFiles } from './python/files.ts';
import { typescriptFiles } from './typescript.ts';

/** Folder of a client below `src/clients` → its emitter. */
export const emitters: Readonly<Record<string, (model: Model) => GeneratedFile[]>> = {
  typescript: typescriptFiles,
  python: pythonFiles,
};

export const generatedFiles = (): GeneratedFile[] => {
  const model = readModel(programDocument());
  return Object.values(emitters).flatMap((emit) => emit(model));
};
