// The thread of a PageReader: a page is read, and its rows are packed, beside the main thread.

import {parentPort} from 'node:worker_threads';
import {buffersOf} from './packed-rows.ts';
import {type PageAnswer, type PageTask, readPage} from './page-reader.ts';

parentPort?.on('message', ({id, task}: {readonly id: number; readonly task: OwnedTask}) => {
  const answered = {...answer(id, task), body: task.body};
  parentPort?.postMessage(answered, [...buffersOf(answered.content?.rows), task.body.buffer]);
});

/** The thread has the body for itself, until it gives it back. */
type OwnedTask = PageTask & Pick<PageAnswer, 'body'>;

function answer(id: number, task: PageTask): Omit<PageAnswer, 'body'> {
  try {
    return {id, content: readPage(task)};
  } catch (error) {
    const {name, message} = error instanceof Error ? error : new Error(String(error));
    return {id, failure: {name, message}};
  }
}
