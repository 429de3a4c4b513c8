import { a } from "a";
// anonymous
export default async function () {
  function inner() {}
}
