// RUN: not writ-opt --resolve-providers=data=/nowhere %s 2>&1 | FileCheck %s
//
// A fault of the catalog is a diagnostic, not an exception that ends the program.
// CHECK: /nowhere/{{.*}}: error: {{.*}}[E0{{[0-9]+}}]
module {
}
