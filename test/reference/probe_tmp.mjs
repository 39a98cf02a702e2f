import { connect } from "@lancedb/lancedb";
import * as arrow from "apache-arrow";
import fs from "node:fs";
const dir = fs.mkdtempSync("/tmp/gaps/probe/p");
const c = await connect(dir);
const v = (a,t)=>arrow.vectorFromArray(a,t);
const li = new arrow.List(new arrow.Field("item", new arrow.Int32(), true));
const tbl = new arrow.Table({
 id: v([1,2,3,4,5],new arrow.Int32()),
 s: v(["kitten","a,b,c","",null,"Grüße 🎉"],new arrow.Utf8()),
 t: v(["sitting",",","x",null,"Grusse"],new arrow.Utf8()),
 i: v([5,-1,0,null,21],new arrow.Int32()),
 l: v([[1,2,3,4,5],[],null,[null,7],[9]],li),
 b: v([new Uint8Array([1,255]),new Uint8Array([]),null,new Uint8Array([65]),new Uint8Array([0])],new arrow.Binary()),
 ts: v([0,1700000000123,null,-86400001,951782400000],new arrow.TimestampMicrosecond()),
 f: v([1.5,-0,NaN,null,1e300],new arrow.Float64()),
});
const t = await c.createTable("t", tbl);
const plain=(_,x)=>typeof x==="bigint"?`${x}n`:typeof x==="number"&&!Number.isFinite(x)?String(x):x;
for (const e of fs.readFileSync(0,"utf8").split("\n").filter(Boolean)) {
  try { const r = await t.query().select({id:"id",x:e}).toArrow(); console.log(e,"::",String(r.schema.fields[1].type),"::",JSON.stringify(r.getChild("x")?.toJSON? [...r.getChild("x")].map(x=>x&&x.toJSON?x.toJSON():x instanceof Uint8Array?[...x]:x):null,plain)); }
  catch(err){ console.log(e,"!!",String(err.message).replace(/\s+/g," ").slice(0,260)); }
}
